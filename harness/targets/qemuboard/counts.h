/* What the plugin counts, in memory that it shares with the harness; harness/targets/qemucounts.py reads it.
 *
 * The plugin is the only writer. A window is complete before the firmware's next instruction runs, so whoever
 * has the reply to a request finds the windows of that request here. Nothing is ever taken out: the ring is so
 * large that a reader who looks once a batch of samples misses none, and `windows` tells whether one did. */
#ifndef COUNTS_H
#define COUNTS_H

#include <stdint.h>

enum { COUNTS_RING = 16384 };

typedef struct {
    uint64_t start; /* cycles since the board was first switched on */
    uint64_t cycles;
    uint64_t instructions;
} window_t;

typedef struct {
    uint64_t instructions; /* all so far, those before a reset included */
    uint64_t cycles;       /* by the core's timings; 0 where none are known */
    uint64_t windows;      /* ever completed; the last COUNTS_RING of them are in the ring */
    uint64_t stack_low;    /* the lowest address of the stack that was ever written to, or 0 */
    window_t ring[COUNTS_RING];
} counts_t;

#endif
