/* A power meter of an Arduino and an INA219 or INA226: every conversion is read once and sent to the host, with
 * how long it lasted and how long the trigger pin was high in that time.
 *
 * Which registers the chip has is the host's knowledge (harness/power/ina.py); here they are only numbers. */
#include <avr/interrupt.h>
#include <avr/wdt.h>

#include "capture.h"
#include "frame.h"
#include "serial.h"
#include "twi.h"
#include "wire.h"

/* The same in both chips. */
enum { CONFIGURATION = 0, SHUNT = 1, BUS = 2 };

static struct {
    bool on;
    uint8_t address;
    uint8_t ready_register, clear_register;
    uint16_t ready_mask;
    uint32_t taken; /* samples */
    uint32_t ticks; /* since the start */
} recording;

static struct {
    uint8_t count;
    uint8_t payload[WIRE_SIZE_SAMPLES + WIRE_MOST_SAMPLES * WIRE_SIZE_SAMPLE];
} block;

static uint16_t get16(const uint8_t *from)
{
    return (uint16_t)(from[0] | from[1] << 8);
}

static void put16(uint8_t *to, uint16_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *to, uint32_t value)
{
    put16(to, (uint16_t)value);
    put16(to + 2, (uint16_t)(value >> 16));
}

static void send_block(void)
{
    if (block.count > 0) {
        uint8_t length = (uint8_t)(WIRE_SIZE_SAMPLES + block.count * WIRE_SIZE_SAMPLE);
        frame_send(serial_put, WIRE_KIND_SAMPLES, 0, block.payload, length);
        block.count = 0;
    }
}

static void keep(capture_t time, uint16_t shunt, uint16_t bus)
{
    if (block.count == 0) {
        put32(block.payload + WIRE_AT_SAMPLES_FIRST, recording.taken);
        put32(block.payload + WIRE_AT_SAMPLES_TICKS, recording.ticks);
    }
    uint8_t *sample = block.payload + WIRE_SIZE_SAMPLES + block.count * WIRE_SIZE_SAMPLE;
    put16(sample + WIRE_AT_SAMPLE_TICKS, time.ticks);
    put16(sample + WIRE_AT_SAMPLE_HIGH, time.high);
    put16(sample + WIRE_AT_SAMPLE_SHUNT, shunt);
    put16(sample + WIRE_AT_SAMPLE_BUS, bus);
    recording.taken++;
    recording.ticks += time.ticks;
    if (++block.count == WIRE_MOST_SAMPLES) {
        send_block();
    }
}

/* Read the conversion that has just become ready, if one has. A bus that fails leaves a hole in time, which the
 * host takes for what it is. */
static void sample(void)
{
    uint16_t ready, shunt, bus, cleared;
    if (!twi_read(recording.address, recording.ready_register, &ready) || !(ready & recording.ready_mask)) {
        return;
    }
    capture_t time = capture_take();
    bus = ready;
    bool whole = twi_read(recording.address, SHUNT, &shunt)
                 && (recording.ready_register == BUS || twi_read(recording.address, BUS, &bus))
                 && (recording.clear_register == WIRE_NOTHING
                     || twi_read(recording.address, recording.clear_register, &cleared));
    if (whole) {
        keep(time, shunt, bus);
    } else {
        recording.ticks += time.ticks;
        send_block(); /* the samples of a block follow each other without a gap */
    }
}

static uint8_t start(const uint8_t *request)
{
    uint16_t configuration = get16(request + WIRE_AT_START_CONFIGURATION);
    uint16_t kept;
    recording.on = false;
    recording.address = request[WIRE_AT_START_ADDRESS];
    recording.ready_register = request[WIRE_AT_START_READY_REGISTER];
    recording.ready_mask = get16(request + WIRE_AT_START_READY_MASK);
    recording.clear_register = request[WIRE_AT_START_CLEAR_REGISTER];
    recording.taken = 0;
    recording.ticks = 0;
    block.count = 0;
    if (!twi_write(recording.address, CONFIGURATION, configuration)
        || !twi_read(recording.address, CONFIGURATION, &kept)) {
        return WIRE_STATUS_NO_CHIP;
    }
    if (kept != configuration) {
        return WIRE_STATUS_REFUSED;
    }
    (void)capture_take(); /* time begins here, as the chip's first conversion does */
    recording.on = true;
    return WIRE_STATUS_OK;
}

static void on_frame(uint8_t kind, uint8_t seq, const uint8_t *request, uint8_t length)
{
    uint8_t answer[WIRE_SIZE_HELLO_REPLY];
    uint8_t size;
    if (kind == WIRE_KIND_HELLO) {
        answer[WIRE_AT_HELLO_REPLY_VERSION] = WIRE_VERSION;
        put32(answer + WIRE_AT_HELLO_REPLY_TICKS, CAPTURE_TICKS);
        size = WIRE_SIZE_HELLO_REPLY;
    } else if (kind == WIRE_KIND_START && length == WIRE_SIZE_START) {
        answer[0] = start(request);
        size = WIRE_SIZE_START_REPLY;
    } else if (kind == WIRE_KIND_STOP) {
        send_block();
        recording.on = false;
        put32(answer, recording.taken);
        size = WIRE_SIZE_STOP_REPLY;
    } else {
        return;
    }
    frame_send(serial_put, kind | WIRE_REPLY, seq, answer, size);
}

int main(void)
{
    /* Some bootloaders start the program through the watchdog and leave it running. */
    MCUSR = 0;
    wdt_disable();
    serial_start();
    twi_start();
    capture_start();
    sei();
    for (;;) {
        frame_event_t event = (frame_event_t)serial_rx.event;
        if (event == FRAME_GOOD) {
            on_frame(frame_kind(&serial_rx), frame_seq(&serial_rx), frame_payload(&serial_rx),
                     frame_payload_length(&serial_rx));
        }
        if (event == FRAME_GOOD || event == FRAME_TOO_LONG) {
            frame_release(&serial_rx);
        }
        if (recording.on) {
            sample();
        }
    }
}
