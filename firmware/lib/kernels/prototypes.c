/* Nearest prototypes in integers: SNC, NPC, k-means and the like.
 *
 *     d_j = Σ_i (x_i - b_ji)²                                   x, b int8; d without sign
 *     or, behind a linear map,
 *     z_i = clip((Σ_j W_ij·x_j + w_bias_i) / 2^Z_SHIFT)         W, z int8; rounded to nearest
 *     d_j = Σ_i (z_i - b_ji)²
 *
 *     score_c = -min d_j over the prototypes of class c; with two classes one score, min d of class 0 - min d
 *     of class 1. The largest score is the class of the nearest prototype, the first of equals.
 *
 * The prototypes are sorted by class; model_counts says how many each class has. Where all coordinates are at
 * hand, a prototype is left as soon as it is no nearer than one before it of its class: the answer is the
 * same. */
#include "kernel.h"

#if defined(MODEL_FAMILY_PROTOTYPES) && MODEL_NUMBERS == MODEL_INT8

#include <stddef.h>
#include <string.h>

#include "argmax.h"
#include "arithmetic.h"
#include "dot.h"
#include "model_data.h"
#include "nearer.h"

/* Of each class. */
static nearest_t least[MODEL_CLASSES];

static inline uint16_t prototypes_of(uint16_t c)
{
#if MODEL_COUNT_BYTES == 1
    return flash_u8(&model_counts[c]);
#else
    return flash_u16(&model_counts[c]);
#endif
}

#if defined(MODEL_W_ROWS) || WHOLE_VECTORS

/* The least distances of all classes from these coordinates. */
static void compare(const int8_t *x)
{
    const int8_t *b = model_b;
    for (uint16_t c = 0; c < MODEL_CLASSES; c++) {
        const uint16_t count = prototypes_of(c);
        least[c] = least_distance(b, count, x);
        b += (size_t)count * MODEL_DIMENSIONS;
    }
}

#endif

#if defined(MODEL_W_ROWS)

#include "projection.h"

static int8_t z[MODEL_W_ROWS];

void kernel_begin(void)
{
    projection_begin();
}

void kernel_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    projection_fold(first, x, count);
}

static void all_features_are_in(void)
{
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        const sum_t biased = (sum_t)(projection[i] + (sum_t)flash_i32(&model_w_bias[i]));
        z[i] = round_shift_i8(biased, MODEL_Z_SHIFT);
    }
    compare(z);
}

#elif WHOLE_VECTORS

void kernel_begin(void)
{
}

void kernel_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    (void)first;
    (void)count;
    compare(x);
}

static void all_features_are_in(void)
{
}

#else

/* distance_i8 sums 24 bits on AVR: 256 squares of at most 255² always fit. */
#define PIECE 256u

static nearest_t distances[MODEL_PROTOTYPES];

void kernel_begin(void)
{
    memset(distances, 0, sizeof distances);
}

void kernel_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    while (count != 0) {
        const uint16_t some = count < PIECE ? count : PIECE;
        const int8_t *b = &model_b[first];
        for (uint16_t j = 0; j < MODEL_PROTOTYPES; j++, b += MODEL_DIMENSIONS) {
            distances[j] += distance_i8(b, x, some);
        }
        first = (uint16_t)(first + some);
        x += some;
        count = (uint16_t)(count - some);
    }
}

static void all_features_are_in(void)
{
    const nearest_t *distance = distances;
    for (uint16_t c = 0; c < MODEL_CLASSES; c++) {
        nearest_t nearest = (nearest_t)-1;
        for (uint16_t left = prototypes_of(c); left != 0; left--, distance++) {
            if (*distance < nearest) {
                nearest = *distance;
            }
        }
        least[c] = nearest;
    }
}

#endif

uint16_t kernel_finish(int32_t *scores)
{
    all_features_are_in();
#if MODEL_SCORES == 1
    scores[0] = (int32_t)least[0] - (int32_t)least[1];
#else
    for (uint16_t c = 0; c < MODEL_SCORES; c++) {
        scores[c] = -(int32_t)least[c];
    }
#endif
    return argmax(scores);
}

#endif
