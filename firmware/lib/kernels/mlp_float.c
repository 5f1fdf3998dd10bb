/* A perceptron with one hidden layer in float32, the unoptimised baseline.
 *
 *     h_i = clip(Σ_j W_ij·x_j + b_i) to 0 … 1, then 1     y_c = Σ_i O_ci·h_i
 *
 * Every sum is taken in the order of its index, one rounded operation after the other. */
#include "kernel.h"

#if defined(MODEL_FAMILY_MLP) && MODEL_NUMBERS == MODEL_FLOAT32

#include "argmax.h"
#include "float_clip.h"
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
    size_t at = 0;
    for (uint16_t c = 0; c < MODEL_SCORES; c++) {
        float sum = 0.0f;
        for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
            const float unit = clip_float(projection[i] + flash_f32(&model_b[i]), 0.0f, 1.0f);
            sum += flash_f32(&model_out[at++]) * unit;
        }
        scores[c] = sum + flash_f32(&model_out[at++]);
    }
    return argmax(scores);
}

#endif
