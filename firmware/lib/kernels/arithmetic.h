/* Rounding and shifts, defined once. models/arithmetic.py is the same in Python. */
#ifndef ARITHMETIC_H
#define ARITHMETIC_H

#include <stdint.h>

/* C leaves >> of a negative number to the compiler; every compiler for these processors copies the sign. */
_Static_assert((-3 >> 1) == -2, "the kernels need an arithmetic right shift");

/* value / 2^shift, rounded down. */
static inline int32_t shift_right(int32_t value, uint8_t shift) {
    return value >> shift;
}

static inline uint32_t shift_right_unsigned(uint32_t value, uint8_t shift) {
    return value >> shift;
}

/* value / 2^shift to the nearest integer, halves up. The exporter has proven that the sum fits. */
static inline int32_t round_shift(int32_t value, uint8_t shift) {
    return shift_right(value + ((int32_t)1 << (shift - 1)), shift);
}

static inline int8_t clip_i8(int32_t value) {
    return (int8_t)(value > 127 ? 127 : value < -127 ? -127 : value);
}

#endif
