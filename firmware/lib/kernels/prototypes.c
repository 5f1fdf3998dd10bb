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
 * The prototypes are sorted by class; model_counts says how many each class has. */
#include "kernel.h"

#if defined(MODEL_FAMILY_PROTOTYPES) && MODEL_NUMBERS == MODEL_INT8

#include <stddef.h>

#include "argmax.h"
#include "arithmetic.h"
#include "dot.h"
#include "model_data.h"

static inline uint16_t prototypes_of(uint16_t c)
{
#if MODEL_COUNT_BYTES == 1
    return flash_u8(&model_counts[c]);
#else
    return flash_u16(&model_counts[c]);
#endif
}

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
}

static inline uint32_t distance_of(uint16_t j)
{
    return distance_i8(&model_b[(size_t)j * MODEL_W_ROWS], z, MODEL_W_ROWS);
}

#else

/* distance_i8 sums 24 bits on AVR: 256 squares of at most 255² always fit. */
#define PIECE 256u

static uint32_t distances[MODEL_PROTOTYPES];

void kernel_begin(void)
{
    for (uint16_t j = 0; j < MODEL_PROTOTYPES; j++) {
        distances[j] = 0;
    }
}

void kernel_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    while (count != 0) {
        const uint16_t some = count < PIECE ? count : PIECE;
        size_t at = first;
        for (uint16_t j = 0; j < MODEL_PROTOTYPES; j++, at += MODEL_DIMENSIONS) {
            distances[j] += distance_i8(&model_b[at], x, some);
        }
        first = (uint16_t)(first + some);
        x += some;
        count = (uint16_t)(count - some);
    }
}

static void all_features_are_in(void)
{
}

static inline uint32_t distance_of(uint16_t j)
{
    return distances[j];
}

#endif

/* The least distance of a class, whose prototypes begin at *j; *j moves on to the next class. */
static uint32_t least_of(uint16_t c, uint16_t *j)
{
    uint32_t least = UINT32_MAX;
    for (uint16_t left = prototypes_of(c); left != 0; left--, (*j)++) {
        const uint32_t distance = distance_of(*j);
        if (distance < least) {
            least = distance;
        }
    }
    return least;
}

uint16_t kernel_finish(int32_t *scores)
{
    uint16_t j = 0;
    all_features_are_in();
#if MODEL_SCORES == 1
    const uint32_t least = least_of(0, &j);
    scores[0] = (int32_t)least - (int32_t)least_of(1, &j);
#else
    for (uint16_t c = 0; c < MODEL_SCORES; c++) {
        scores[c] = -(int32_t)least_of(c, &j);
    }
#endif
    return argmax(scores);
}

#endif
