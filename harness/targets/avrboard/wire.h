/* The socket protocol; harness/targets/simwire.py is its other end. All numbers are little-endian.
 *
 * A request is its letter, the length of its payload (4 bytes) and the payload. Requests of one connection are
 * answered in order, one after the other; simulated time passes only in WIRE_RUN. */
#ifndef AVRBOARD_WIRE_H
#define AVRBOARD_WIRE_H

#include <stdint.h>

enum wire_request {
    WIRE_WRITE = 'w',   /* bytes for the device's receiver; no reply */
    WIRE_LINE = 'l',    /* struct wire_line; replies when done */
    WIRE_PURGE = 'p',   /* forgets what was written and not received yet; replies when done */
    WIRE_RUN = 'r',     /* struct wire_run; replies with every byte that has arrived */
    WIRE_WINDOWS = 't', /* replies with the trigger windows that ended, and forgets them */
    WIRE_FACTS = 'f',   /* replies with struct wire_facts */
    WIRE_FAULT = 'e',   /* replies with the program counter (4 bytes) and what went wrong, as text */
    WIRE_ABOUT = 'a',   /* replies with text lines: simavr's version, its library, the ELF file, the clock in Hz */
    WIRE_RESET = 'x',   /* replies when done */
    WIRE_QUIT = 'q',
};

#pragma pack(push, 1)
struct wire_line {
    uint32_t baud; /* 0: follow the device */
    uint8_t dtr;
};

struct wire_run {
    uint32_t want;
    uint64_t cycles;
    uint8_t whole;
};

struct wire_facts {
    uint64_t slept, overruns, stack_peak;
    uint64_t cpu_ns; /* of the host's time, what this process has used */
};

struct wire_reply {
    uint8_t outcome; /* enum outcome */
    uint64_t cycle;
    uint32_t unsent; /* bytes still on their way to the receiver */
    uint32_t length; /* of the payload that follows */
};
#pragma pack(pop)

#endif
