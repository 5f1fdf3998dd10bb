/* The least distance from prototypes that lie one after the other. avr_nearer.h has the same for AVR, where a
 * prototype is left as soon as it is no nearer than one before it. */
#ifndef NEARER_H
#define NEARER_H

#include <stdint.h>

#include "flash.h"

/* How wide distances are: a square is at most 255². */
#if defined(__AVR__) && MODEL_DIMENSIONS <= 258
typedef __uint24 nearest_t;
#define NEAREST_BYTES 3
#else
typedef uint32_t nearest_t;
#define NEAREST_BYTES 4
#endif

#ifdef __AVR__
#include "avr_nearer.h"
#else

/* min over the prototypes of Σ (x_i - b_i)² */
static inline nearest_t least_distance(const int8_t *b, uint16_t prototypes, const int8_t *x)
{
    nearest_t least = UINT32_MAX;
    for (; prototypes != 0; prototypes--) {
        nearest_t sum = 0;
        for (uint16_t i = 0; i < MODEL_DIMENSIONS; i++) {
            const int32_t difference = x[i] - flash_i8(b++);
            sum += (nearest_t)(difference * difference);
        }
        if (sum < least) {
            least = sum;
        }
    }
    return least;
}

#endif

#endif
