#ifndef CORTEXM0_H
#define CORTEXM0_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    unsigned cycles;  /* of a conditional branch, those when it is not taken */
    bool conditional; /* whether it is one */
} timing_t;

/* What a conditional branch takes more when it is taken. */
enum { CORTEXM0_TAKEN = 2 };

/* By its first halfword. That suffices, and it is all that QEMU shows of an instruction that lies across the
 * boundary of two of its pages. */
timing_t cortexm0_timing(uint16_t first);

#endif
