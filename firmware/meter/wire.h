/* What the meter and the host say to each other; harness/power/ina_wire.py is the other end and explains it.
 *
 * Frames are those of the board's link, numbers are little-endian. */
#ifndef METER_WIRE_H
#define METER_WIRE_H

enum {
    WIRE_VERSION = 1,
    WIRE_REPLY = 0x80,
    WIRE_MOST_SAMPLES = 2, /* in a frame: a longer one takes so long to make that a conversion is missed */
    WIRE_NOTHING = 0xff,   /* in place of a register */
};

enum {
    WIRE_KIND_HELLO = 0x41,
    WIRE_KIND_START = 0x42,
    WIRE_KIND_STOP = 0x43,
    WIRE_KIND_SAMPLES = 0x44,
};

/* The answer to START. */
enum {
    WIRE_STATUS_OK = 0,
    WIRE_STATUS_NO_CHIP = 1,
    WIRE_STATUS_REFUSED = 2,
};

/* Places in payloads, and their sizes. */
enum {
    WIRE_AT_HELLO_REPLY_VERSION = 0,
    WIRE_AT_HELLO_REPLY_TICKS = 1,
    WIRE_SIZE_HELLO_REPLY = 5,

    WIRE_AT_START_ADDRESS = 0,
    WIRE_AT_START_CONFIGURATION = 1,
    WIRE_AT_START_READY_REGISTER = 3,
    WIRE_AT_START_READY_MASK = 4,
    WIRE_AT_START_CLEAR_REGISTER = 6,
    WIRE_SIZE_START = 7,

    WIRE_SIZE_START_REPLY = 1,
    WIRE_SIZE_STOP_REPLY = 4,

    WIRE_AT_SAMPLES_FIRST = 0,
    WIRE_AT_SAMPLES_TICKS = 4,
    WIRE_SIZE_SAMPLES = 8,

    WIRE_AT_SAMPLE_TICKS = 0,
    WIRE_AT_SAMPLE_HIGH = 2,
    WIRE_AT_SAMPLE_SHUNT = 4,
    WIRE_AT_SAMPLE_BUS = 6,
    WIRE_SIZE_SAMPLE = 8,
};

#endif
