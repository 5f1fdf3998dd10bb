/* The inner loops over int8 weights in flash. avr_dot.h has the same for AVR, with the same answers. */
#ifndef DOT_H
#define DOT_H

#include <stdint.h>

#include "flash.h"
#include "widths.h"

#ifdef __AVR__
#include "avr_dot.h"
#else

/* sum + Σ w[i]·x[i] */
static inline sum_t dot_i8(sum_t sum, const int8_t *w, const int8_t *x, uint16_t count)
{
    for (; count != 0; count--) {
        sum += flash_i8(w++) * *x++;
    }
    return sum;
}

/* Σ w[i]·s[i], s without sign */
static inline int32_t dot_u8(const int8_t *w, const uint8_t *s, uint16_t count)
{
    int32_t sum = 0;
    for (; count != 0; count--) {
        sum += flash_i8(w++) * *s++;
    }
    return sum;
}

/* Σ (z[i] - b[i])², both within ±127 */
static inline distance_t distance_i8(const int8_t *b, const int8_t *z, uint16_t count)
{
    distance_t sum = 0;
    for (; count != 0; count--) {
        const int32_t difference = *z++ - flash_i8(b++);
        sum += (uint32_t)(difference * difference);
    }
    return sum;
}

/* Where the reading of a sparse row stands. */
typedef struct {
    const uint8_t *pair; /* the next one: gap, value */
    uint16_t columns;    /* how many lie before its gap */
} cursor_t;

/* sum + the terms of a sparse row whose columns are below first + count; x[0] is column `first`. The cursor
 * moves past them. */
static inline sum_t dot_pairs(sum_t sum, cursor_t *cursor, const uint8_t *row_end, uint16_t first,
                              const int8_t *x, uint16_t count)
{
    while (cursor->pair != row_end) {
        const uint16_t columns = (uint16_t)(cursor->columns + flash_u8(cursor->pair));
        if (columns > first + count) {
            break;
        }
        sum += (int8_t)flash_u8(cursor->pair + 1) * x[columns - 1 - first];
        cursor->columns = columns;
        cursor->pair += 2;
    }
    return sum;
}

/* The same for a whole row and the whole vector: no column needs to be looked at. */
static inline sum_t dot_row(const uint8_t *pairs, uint16_t count, const int8_t *x)
{
    sum_t sum = 0;
    for (; count != 0; count--) {
        x += flash_u8(pairs++);
        sum += (int8_t)flash_u8(pairs++) * x[-1];
    }
    return sum;
}

#endif

#endif
