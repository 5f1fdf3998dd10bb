/* ProtoNN in integers.
 *
 *     z_i = clip(Σ_j W_ij·x_j / 2^Z_SHIFT)         x, z int8, W int8 or of 4 bits; rounded to nearest
 *     d_j = Σ_i (z_i - b_ji)²                      b int8; d without sign
 *     u_j = (d_j - min d) / 2^EXP_SHIFT            sixteenths of a halving
 *     s_j = 255·2^(-u_j/16)                        uint8: 16 bytes of table, then a shift
 *     score_c = Σ_j Z_cj·s_j                       Z int8, score int32
 *
 * Taking the least distance off multiplies every similarity by one positive factor: the winner stays, and
 * the nearest prototype always has full precision. */
#include "kernel.h"

#if defined(MODEL_FAMILY_PROTONN) && MODEL_NUMBERS == MODEL_INT8

#include "argmax.h"
#include "arithmetic.h"
#include "model_data.h"

#if defined(__AVR__) && DISTANCE_BYTES == 3

#include "avr_prototypes.h"
#define projection work.sums
#include "projection_any.h"

#else

#include "dot.h"
#include "projection_any.h"

static int8_t z[MODEL_W_ROWS];

/* A similarity is written where distances have been read before. */
static union {
    distance_t distance[MODEL_PROTOTYPES];
    uint8_t similarity[MODEL_PROTOTYPES];
} near;

/* All distances; gives the least of them. */
static inline distance_t measure_distances(void)
{
    distance_t least = (distance_t)-1;
    size_t at = 0;
    for (uint16_t j = 0; j < MODEL_PROTOTYPES; j++, at += MODEL_W_ROWS) {
        near.distance[j] = distance_i8(&model_b[at], z, MODEL_W_ROWS);
        if (near.distance[j] < least) {
            least = near.distance[j];
        }
    }
    return least;
}

/* 255·2^(-u/16) for u = (distance - least) / 2^EXP_SHIFT: the fraction by table, the whole part by shift. */
static inline void weigh_distances(distance_t least)
{
    for (uint16_t j = 0; j < MODEL_PROTOTYPES; j++) {
        const distance_t beyond = near.distance[j] - least;
        uint8_t similarity = 0;
        if (beyond < (distance_t)128 << MODEL_EXP_SHIFT) {
            const uint8_t u = (uint8_t)(beyond >> MODEL_EXP_SHIFT);
            similarity = (uint8_t)(flash_u8(&model_exp[u & 15]) >> (u >> 4));
        }
        near.similarity[j] = similarity;
    }
}

static inline void score_prototypes(int32_t *scores)
{
    weigh_distances(measure_distances());
    size_t at = 0;
    for (uint16_t c = 0; c < MODEL_SCORES; c++, at += MODEL_PROTOTYPES) {
        scores[c] = dot_u8(&model_z[at], near.similarity, MODEL_PROTOTYPES);
    }
}

#endif

void kernel_begin(void)
{
    projection_begin();
}

void kernel_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    projection_fold(first, x, count);
}

uint16_t kernel_finish(int32_t *scores)
{
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        z[i] = round_shift_i8(projection[i], MODEL_Z_SHIFT + PROJECTION_BITS);
    }

    score_prototypes(scores);
    return argmax(scores);
}

#endif
