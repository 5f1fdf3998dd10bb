/* Inner loops over int8 weights in flash. The exporter has proven that no sum leaves 32 bits. */
#ifndef DOT_H
#define DOT_H

#include <stdint.h>

#include "flash.h"

/* Σ w[i]·x[i] */
static inline int32_t dot_i8(const int8_t *w, const int8_t *x, uint16_t count) {
    int32_t sum = 0;
    for (; count != 0; count--) {
        sum += (int16_t)(flash_i8(w++) * *x++);
    }
    return sum;
}

/* Σ w[i]·s[i], s without sign */
static inline int32_t dot_u8(const int8_t *w, const uint8_t *s, uint16_t count) {
    int32_t sum = 0;
    for (; count != 0; count--) {
        sum += (int16_t)(flash_i8(w++) * *s++);
    }
    return sum;
}

/* Σ (z[i] - b[i])², both within ±127 */
static inline uint32_t distance_i8(const int8_t *b, const int8_t *z, uint16_t count) {
    uint32_t sum = 0;
    for (; count != 0; count--) {
        const int16_t difference = (int16_t)(*z++ - flash_i8(b++));
        const uint8_t size = (uint8_t)(difference < 0 ? -difference : difference);
        sum += (uint16_t)((uint16_t)size * size);
    }
    return sum;
}

#endif
