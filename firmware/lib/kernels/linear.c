/* A linear classifier in integers.
 *
 *     score_c = Σ_j W_cj·x_j + bias_c      x, W int8; bias and score int32
 *
 * One scale serves all classes, so the scores can be compared as they are. */
#include "kernel.h"

#if defined(MODEL_FAMILY_LINEAR) && MODEL_NUMBERS == MODEL_INT8

#include "argmax.h"
#include "model_data.h"
#include "projection.h"

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
    for (uint16_t c = 0; c < MODEL_SCORES; c++) {
        scores[c] = projection[c] + flash_i32(&model_bias[c]);
    }
    return argmax(scores);
}

#endif
