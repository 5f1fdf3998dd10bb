/* How wide sums are. The exporter has proven that none of them can overflow, whatever the features are.
 *
 * AVR adds byte by byte, so that a byte less is a cycle less in every term; __int24 is a type of its compiler.
 * Elsewhere 32 bits are one register, and narrower sums would only cost. */
#ifndef WIDTHS_H
#define WIDTHS_H

#include <stdint.h>

#include "model.h"

#if defined(__AVR__) && MODEL_W_SUM_BYTES == 2
typedef int16_t sum_t;
#elif defined(__AVR__) && MODEL_W_SUM_BYTES == 3
typedef __int24 sum_t;
#else
typedef int32_t sum_t;
#endif

/* ProtoNN's squared distances. Of up to 130 squares of at most 254² and the distance from which on a similarity
 * is nothing, 128 << EXP_SHIFT, even the sum fits into 24 bits. */
#if defined(__AVR__) && MODEL_W_ROWS <= 130 && MODEL_EXP_SHIFT <= 16
#define DISTANCE_BYTES 3
typedef __uint24 distance_t;
#else
#define DISTANCE_BYTES 4
typedef uint32_t distance_t;
#endif

#endif
