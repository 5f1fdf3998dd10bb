/* Drives lib/link/frame for the tests: `encode` and `decode` lines of hex from standard input, or `fuzz
 * COUNT SEED`, which feeds that many random and mutated frames to the decoder and checks after each of
 * them what must always hold. Prints its counts as JSON; a broken promise is an abort, found by the
 * sanitizers or by `must`. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

enum { WIRE_MAX = 4096, PAYLOAD_MAX = 255 };

static uint8_t wire[WIRE_MAX];
static size_t wire_length;

static void put(uint8_t byte)
{
    wire[wire_length++] = byte;
}

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static uint64_t random_state;

static uint32_t random32(void) /* splitmix64: the same numbers on every machine */
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}

static uint32_t below(uint32_t limit)
{
    return random32() % limit;
}

/* Any byte, the special ones and their escaped forms far more often than by chance. */
static uint8_t random_byte(void)
{
    static const uint8_t special[] = {
        LINK_FLAG,
        LINK_ESCAPE,
        LINK_FLAG ^ LINK_ESCAPE_XOR,
        LINK_ESCAPE ^ LINK_ESCAPE_XOR,
    };
    return below(8) == 0 ? special[below(sizeof special)] : (uint8_t)random32();
}

/* The textbook's algorithm, bit by bit, to check the decoder's against. */
static uint16_t crc_bitwise(const uint8_t *bytes, size_t length)
{
    uint16_t crc = LINK_CRC_START;
    for (size_t i = 0; i < length; i++) {
        crc ^= (uint16_t)(bytes[i] << 8);
        for (int bit = 0; bit < 8; bit++) {
            crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
        }
    }
    return crc;
}

static uint8_t body[2 + PAYLOAD_MAX];
static size_t body_length;

static void random_frame(void)
{
    /* Around the longest payload more often than by chance. */
    uint32_t length = below(4) == 0 ? FRAME_PAYLOAD - 2 + below(5) : below(PAYLOAD_MAX + 1);
    body_length = 2 + length;
    for (size_t i = 0; i < body_length; i++) {
        body[i] = random_byte();
    }
    wire_length = 0;
    frame_send(put, body[0], body[1], body + 2, (uint8_t)length);
}

static void mutate_wire(void)
{
    for (uint32_t n = 1 + below(4); n > 0; n--) {
        size_t at = below((uint32_t)wire_length);
        size_t span = 1 + below(6);
        if (span > wire_length - at) {
            span = wire_length - at;
        }
        switch (below(5)) {
        case 0: /* a bit flips */
            wire[at] ^= (uint8_t)(1 << below(8));
            break;
        case 1: /* a byte is another */
            wire[at] = random_byte();
            break;
        case 2: /* bytes are lost */
            if (wire_length > span) {
                memmove(wire + at, wire + at + span, wire_length - at - span);
                wire_length -= span;
            }
            break;
        case 3: /* bytes come twice */
            if (wire_length + span < WIRE_MAX) {
                memmove(wire + at + span, wire + at, wire_length - at);
                wire_length += span;
            }
            break;
        default: /* noise comes in between */
            if (wire_length + span < WIRE_MAX) {
                memmove(wire + at + span, wire + at, wire_length - at);
                for (size_t i = 0; i < span; i++) {
                    wire[at + i] = random_byte();
                }
                wire_length += span;
            }
        }
    }
}

static void random_wire(void)
{
    wire_length = 1 + below(400);
    for (size_t i = 0; i < wire_length; i++) {
        wire[i] = random_byte();
    }
}

static void check_kept(const frame_rx_t *rx)
{
    if (rx->event == FRAME_GOOD) {
        must(rx->length >= FRAME_HEAD + FRAME_CRC && rx->length <= FRAME_CAPACITY, "a good frame's length");
        must(crc_bitwise(rx->bytes, rx->length) == 0, "a good frame's CRC");
        must(frame_payload_length(rx) <= FRAME_PAYLOAD, "a good frame's payload length");
    } else if (rx->event == FRAME_TOO_LONG) {
        must(rx->length == FRAME_CAPACITY + 1, "the length of a frame that is too long");
    }
}

static void check_unharmed(const frame_rx_t *rx)
{
    size_t payload = body_length - FRAME_HEAD;
    if (payload > FRAME_PAYLOAD) {
        must(rx->event == FRAME_TOO_LONG, "a long frame is called too long");
        size_t kept = body_length < FRAME_CAPACITY ? body_length : FRAME_CAPACITY;
        must(memcmp(rx->bytes, body, kept) == 0, "the head of a long frame is kept");
    } else {
        must(rx->event == FRAME_GOOD, "a whole frame is good");
        must(frame_kind(rx) == body[0] && frame_seq(rx) == body[1], "kind and number");
        must(frame_payload_length(rx) == payload, "the payload's length");
        must(memcmp(frame_payload(rx), body + FRAME_HEAD, payload) == 0, "the payload");
    }
}

static int fuzz(long count, uint64_t seed)
{
    random_state = seed;
    /* On the heap, so that the sanitizer guards the byte behind the buffer. */
    frame_rx_t *rx = calloc(1, sizeof *rx);
    must(rx != NULL, "memory");
    frame_release(rx);
    long seen[4] = {0, 0, 0, 0};
    for (long i = 0; i < count; i++) {
        uint32_t kind = below(8);
        if (kind == 0) {
            random_wire();
        } else {
            random_frame();
        }
        if (kind > 2) {
            mutate_wire();
        }
        bool unharmed = kind == 1 || kind == 2;
        if (unharmed) { /* whatever came before, two flags are a clean start */
            frame_receive(rx, LINK_FLAG);
            frame_receive(rx, LINK_FLAG);
            if (rx->event != FRAME_NONE) {
                frame_release(rx);
            }
        }
        for (size_t at = 0; at < wire_length; at++) {
            frame_receive(rx, wire[at]);
            must(rx->length <= FRAME_CAPACITY + 1, "the length is bounded");
            bool last = at + 1 == wire_length;
            if (rx->event == FRAME_NONE || (unharmed && !last)) {
                continue;
            }
            seen[rx->event]++;
            check_kept(rx);
            if (unharmed) {
                check_unharmed(rx);
            }
            if (rx->event == FRAME_DAMAGED) {
                rx->event = FRAME_NONE; /* as hal_wait does */
            } else {
                frame_rx_t before = *rx; /* a kept frame is deaf to what follows */
                for (int noise = 0; noise < 4; noise++) {
                    frame_receive(rx, random_byte());
                }
                must(memcmp(&before, rx, sizeof before) == 0, "a kept frame stays as it is");
                frame_release(rx);
            }
        }
        if (unharmed) {
            must(rx->state == FRAME_HUNT, "a whole frame was reported at its last byte");
        }
    }
    free(rx);
    printf("{\"fed\": %ld, \"good\": %ld, \"too_long\": %ld, \"damaged\": %ld}\n", count, seen[FRAME_GOOD],
           seen[FRAME_TOO_LONG], seen[FRAME_DAMAGED]);
    return 0;
}

static size_t read_hex(const char *text, uint8_t *to, size_t room)
{
    size_t length = 0;
    unsigned value;
    for (; length < room && sscanf(text + 2 * length, "%2x", &value) == 1; length++) {
        to[length] = (uint8_t)value;
    }
    return length;
}

static void print_hex(const char *label, const uint8_t *bytes, size_t length)
{
    printf("%s", label);
    for (size_t i = 0; i < length; i++) {
        printf("%02x", bytes[i]);
    }
}

/* A line: kind, number and payload as hex. Out: the frame on the wire as hex. */
static void encode(const char *line)
{
    body_length = read_hex(line, body, sizeof body);
    must(body_length >= FRAME_HEAD, "a line to encode");
    wire_length = 0;
    frame_send(put, body[0], body[1], body + 2, (uint8_t)(body_length - 2));
    print_hex("", wire, wire_length);
    printf("\n");
}

/* A line: what came over the wire as hex. Out: one word an event, with kind, number and payload of good
 * ones. */
static void decode(const char *line)
{
    frame_rx_t rx = {.event = FRAME_NONE};
    frame_release(&rx);
    wire_length = read_hex(line, wire, sizeof wire);
    for (size_t at = 0; at < wire_length; at++) {
        frame_receive(&rx, wire[at]);
        if (rx.event == FRAME_DAMAGED) {
            printf("damaged ");
            rx.event = FRAME_NONE;
        } else if (rx.event == FRAME_TOO_LONG) {
            printf("long ");
            frame_release(&rx);
        } else if (rx.event == FRAME_GOOD) {
            print_hex("good:", rx.bytes, (size_t)rx.length - FRAME_CRC);
            printf(" ");
            frame_release(&rx);
        }
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "fuzz") == 0) {
        return fuzz(atol(argv[2]), strtoull(argv[3], NULL, 10));
    }
    must(argc == 2, "one of: encode, decode, fuzz COUNT SEED");
    static char line[2 * WIRE_MAX + 2];
    while (fgets(line, sizeof line, stdin)) {
        (strcmp(argv[1], "encode") == 0 ? encode : decode)(line);
    }
    return 0;
}
