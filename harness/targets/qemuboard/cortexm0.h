#ifndef CORTEXM0_H
#define CORTEXM0_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    unsigned cycles;  /* of a conditional branch, those when it is not taken */
    bool conditional; /* whether it is one */
} timing_t;

/* What a conditional branch takes more when it is taken. */
enum { CORTEXM0_TAKEN = 2 };

timing_t cortexm0_timing(const uint8_t *code, size_t size);

#endif
