/* ProtoNN in float32, the unoptimised baseline.
 *
 *     z_i = Σ_j W_ij·x_j    d_j = Σ_i (z_i - b_ji)²    s_j = 2^(-DECAY·d_j)    score_c = Σ_j Z_cj·s_j
 *
 * DECAY is γ²·log2(e). Every sum is taken in the order of its index, one rounded operation after the other. */
#include "kernel.h"

#if defined(MODEL_FAMILY_PROTONN) && MODEL_NUMBERS == MODEL_FLOAT32

#include "argmax.h"
#include "float_exp.h"
#include "model_data.h"
#include "projection_float.h"

static float similarity[MODEL_PROTOTYPES];

void kernel_begin(void)
{
    projection_begin();
}

void kernel_fold(uint16_t first, const float *x, uint16_t count)
{
    projection_fold(first, x, count);
}

uint16_t kernel_finish(float *scores)
{
    size_t at = 0;
    for (uint16_t j = 0; j < MODEL_PROTOTYPES; j++) {
        float distance = 0.0f;
        for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
            const float difference = projection[i] - flash_f32(&model_b[at++]);
            distance += difference * difference;
        }
        similarity[j] = exp2_negative(MODEL_DECAY * distance);
    }

    at = 0;
    for (uint16_t c = 0; c < MODEL_SCORES; c++) {
        float score = 0.0f;
        for (uint16_t j = 0; j < MODEL_PROTOTYPES; j++) {
            score += flash_f32(&model_z[at++]) * similarity[j];
        }
        scores[c] = score;
    }
    return argmax(scores);
}

#endif
