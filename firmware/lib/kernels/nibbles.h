/* Weights of four bits in flash, two a byte: models/nibbles.py says how they lie. */
#ifndef NIBBLES_H
#define NIBBLES_H

#include <stdint.h>

#include "flash.h"

/* The upper and the lower half of a byte, each a number from -8 to 7. */
static inline int8_t upper_half(uint8_t both)
{
    return (int8_t)((int8_t)both >> 4);
}

static inline int8_t lower_half(uint8_t both)
{
    return (int8_t)((int8_t)(uint8_t)(both << 4) >> 4);
}

/* Bytes of a packed row of so many columns. */
#define PACKED_BYTES(columns) (((columns) + 1u) / 2u)

/* Σ w[i]·x[i] over a packed row. */
static inline int32_t dot_packed(const uint8_t *row, const int8_t *x, uint16_t count)
{
    int32_t sum = 0;
    for (; count > 1; count -= 2) {
        const uint8_t both = flash_u8(row++);
        sum += upper_half(both) * *x++;
        sum += lower_half(both) * *x++;
    }
    if (count != 0) {
        sum += upper_half(flash_u8(row)) * *x;
    }
    return sum;
}

/* Σ w[i]·x[i] over a row of int8, as wide as it may get whatever the projection's sums are. */
static inline int32_t dot_wide(const int8_t *row, const int8_t *x, uint16_t count)
{
    int32_t sum = 0;
    for (; count != 0; count--) {
        sum += flash_i8(row++) * *x++;
    }
    return sum;
}

#endif
