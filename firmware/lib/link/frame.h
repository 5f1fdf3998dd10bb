/* Frames on the serial line: FLAG kind seq payload crc FLAG, as harness/link/messages.py defines them.
 *
 * The decoder takes one byte at a time and is inlined into the receive interrupt: a call from there would
 * make the compiler save every register a callee may use, 60 cycles of the 160 that a byte lasts at 1 Mbaud
 * and 16 MHz. There is one frame buffer and no ring: the host is silent while the device works, so a complete
 * frame stays where it was received until it is released, and what comes in the meantime is noise and
 * dropped. */
#ifndef LINK_FRAME_H
#define LINK_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

enum {
    FRAME_HEAD = 2, /* kind, seq */
    FRAME_CRC = 2,
    /* Feature bytes in one frame: a multiple of every feature's size, and as many as kernels want at once, who
     * have to load and store their sums with every piece. */
    FRAME_CHUNK = 240,
    FRAME_PAYLOAD = LINK_SIZE_FEATURES + FRAME_CHUNK,
    FRAME_CAPACITY = FRAME_HEAD + FRAME_PAYLOAD + FRAME_CRC,
};

_Static_assert(FRAME_CAPACITY < UINT8_MAX, "lengths are 8 bits, and one more than full must be countable");

/* What has come. */
typedef enum {
    FRAME_NONE,
    FRAME_GOOD,     /* a whole frame with a right CRC; kept until frame_release */
    FRAME_TOO_LONG, /* the CRC is right, but the payload's end was not kept; kept until frame_release */
    FRAME_DAMAGED,  /* wrong CRC or cut short; nothing is kept, and a good frame may take its place */
} frame_event_t;

typedef enum {
    FRAME_OPEN,
    FRAME_ESCAPED, /* the byte after ESCAPE is due */
    FRAME_HUNT,    /* between frames: nothing counts until a FLAG */
    FRAME_HELD,
} frame_state_t;

/* CRC-16/CCITT, high bit first, as two bytes: an 8-bit machine computes them without a 16-bit shift. */
typedef struct {
    uint8_t high, low;
} frame_crc_t;

typedef struct {
    volatile uint8_t event; /* frame_event_t, one byte so that it is read and written at once */
    volatile uint8_t state; /* frame_state_t */
    uint8_t length;         /* bytes since FLAG, FRAME_CAPACITY + 1 at most */
    frame_crc_t crc;        /* over those bytes: zero once the frame's own CRC has gone through it */
    uint8_t bytes[FRAME_CAPACITY];
} frame_rx_t;

_Static_assert(sizeof(frame_rx_t) <= 256, "a frame at the begin of RAM lies in one page (hal/avr/uart.c)");

static inline frame_crc_t frame_crc_start(void)
{
    return (frame_crc_t){LINK_CRC_START >> 8, LINK_CRC_START & 0xff};
}

/* The eight steps of the bit-wise algorithm at once, without a table: 24 cycles on an AVR instead of about
 * 100. */
static inline frame_crc_t frame_crc(frame_crc_t crc, uint8_t byte)
{
    uint8_t x = crc.high ^ byte;
    x ^= x >> 4;
    uint8_t up = (uint8_t)(x << 4);
    return (frame_crc_t){
        .high = crc.low ^ up ^ (uint8_t)(x >> 3),
        .low = x ^ (uint8_t)(up << 1),
    };
}

/* FLAG ends a frame and begins the next, so that one lost FLAG costs one frame and not two. */
static inline void frame_flag(frame_rx_t *rx, uint8_t state)
{
    uint8_t length = rx->length;
    if (length != 0 || state == FRAME_ESCAPED) {
        bool right = length >= FRAME_HEAD + FRAME_CRC && (rx->crc.high | rx->crc.low) == 0;
        if (right && state == FRAME_OPEN) {
            rx->state = FRAME_HELD;
            rx->event = length > FRAME_CAPACITY ? FRAME_TOO_LONG : FRAME_GOOD;
            return;
        }
        rx->event = FRAME_DAMAGED;
    }
    rx->length = 0;
    rx->crc = frame_crc_start();
    rx->state = FRAME_OPEN;
}

/* One received byte. May be called from an interrupt: the rest of the program reads `event`, and looks at the
 * other fields only while a frame is kept. */
static inline void frame_receive(frame_rx_t *rx, uint8_t byte)
{
    uint8_t state = rx->state;
    if (state == FRAME_HELD) {
        return;
    }
    if (byte == LINK_FLAG) {
        frame_flag(rx, state);
        return;
    }
    if (state == FRAME_HUNT) {
        return;
    }
    if (byte == LINK_ESCAPE) {
        rx->state = FRAME_ESCAPED;
        return;
    }
    if (state == FRAME_ESCAPED) {
        byte ^= LINK_ESCAPE_XOR;
        rx->state = FRAME_OPEN;
    }
    rx->crc = frame_crc(rx->crc, byte);
    uint8_t length = rx->length;
    if (length < FRAME_CAPACITY) {
        rx->bytes[length] = byte;
    }
    if (length <= FRAME_CAPACITY) {
        rx->length = length + 1;
    }
}

/* The kept frame has been dealt with; the next may come. */
static inline void frame_release(frame_rx_t *rx)
{
    rx->length = 0;
    rx->event = FRAME_NONE;
    rx->state = FRAME_HUNT; /* last: from here on the interrupt writes again */
}

/* Of a kept frame; the payload's end is missing when it was too long. */
static inline uint8_t frame_kind(const frame_rx_t *rx) { return rx->bytes[0]; }
static inline uint8_t frame_seq(const frame_rx_t *rx) { return rx->bytes[1]; }
static inline const uint8_t *frame_payload(const frame_rx_t *rx) { return rx->bytes + FRAME_HEAD; }
static inline uint8_t frame_payload_length(const frame_rx_t *rx)
{
    return rx->length - FRAME_HEAD - FRAME_CRC;
}

/* Send one frame byte by byte through `put`. */
void frame_send(void (*put)(uint8_t), uint8_t kind, uint8_t seq, const uint8_t *payload, uint8_t length);

#endif
