/* Rounding and clipping, defined once. models/arithmetic.py is the same in Python. */
#ifndef ARITHMETIC_H
#define ARITHMETIC_H

#include <stdint.h>

#include "widths.h"

/* C leaves >> of a negative number to the compiler; every compiler for these processors copies the sign. */
_Static_assert((-3 >> 1) == -2, "the kernels need an arithmetic right shift");

static inline int8_t clip_i8(sum_t value)
{
    return (int8_t)(value > 127 ? 127 : value < -127 ? -127 : value);
}

/* value / 2^shift to the nearest integer, halves up, clipped to ±127. The exporter has proven that adding the
 * half does not overflow; `shift` is a constant, at least 1. */
static inline int8_t round_shift_i8(sum_t value, uint8_t shift)
{
    value += (sum_t)1 << (shift - 1);
#if defined(__AVR__) && MODEL_W_SUM_BYTES > 2
    /* AVR shifts by one bit at a time: drop a whole byte first, and shift what is left of it. */
    if (shift >= 8) {
#if MODEL_W_SUM_BYTES == 3
        const int16_t upper = (int16_t)(value >> 8);
#else
        const __int24 upper = (__int24)(value >> 8);
#endif
        return clip_i8(upper >> (shift - 8));
    }
#endif
    return clip_i8(value >> shift);
}

#endif
