/* A linear classifier in float32, the unoptimised baseline.
 *
 *     score_c = Σ_j W_cj·x_j + bias_c      summed in the order of the features, the bias last */
#include "kernel.h"

#if defined(MODEL_FAMILY_LINEAR) && MODEL_NUMBERS == MODEL_FLOAT32

#include "argmax.h"
#include "model_data.h"
#include "projection_float.h"

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
    for (uint16_t c = 0; c < MODEL_SCORES; c++) {
        scores[c] = projection[c] + flash_f32(&model_bias[c]);
    }
    return argmax(scores);
}

#endif
