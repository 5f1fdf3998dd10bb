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

/* The same from zero for the whole vector */
static inline sum_t dot_whole(const int8_t *w, const int8_t *x)
{
    return dot_i8(0, w, x, MODEL_FEATURES);
}

/* Σ w[i]·s[i], s without sign; `count` is a constant */
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

#endif

#endif
