/* Bonsai in float32, the unoptimised baseline.
 *
 *     z_i = clip(Σ_j Z_ij·x_j + b_i) to ±1, then 1     y_c = Σ_k (Σ_i W_kci·z_i) · clip(Σ_i V_kci·z_i) to ±1
 *
 * over the nodes k on the path; from node k it goes on to 2k+2 if Σ_i T_ki·z_i > 0, else to 2k+1. Every sum
 * is taken in the order of its index, one rounded operation after the other. */
#include "kernel.h"

#if defined(MODEL_FAMILY_BONSAI) && MODEL_NUMBERS == MODEL_FLOAT32

#include "argmax.h"
#include "float_clip.h"
#include "model_data.h"
#include "projection_float.h"
#include "tree_path.h"

#define COLUMNS (MODEL_W_ROWS + 1u)

static float z[COLUMNS];

static float row_sum(const float *row)
{
    float sum = 0.0f;
    for (uint16_t i = 0; i < COLUMNS; i++) {
        sum += flash_f32(&row[i]) * z[i];
    }
    return sum;
}

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
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        z[i] = clip_float(projection[i] + flash_f32(&model_b[i]), -1.0f, 1.0f);
    }
    z[MODEL_W_ROWS] = 1.0f;

    for (uint16_t c = 0; c < MODEL_SCORES; c++) {
        scores[c] = 0.0f;
    }
    uint16_t node = 0;
    for (uint8_t level = 0;; level++) {
        size_t at = (size_t)node * MODEL_SCORES * COLUMNS;
        for (uint16_t c = 0; c < MODEL_SCORES; c++, at += COLUMNS) {
            const float predicted = row_sum(&model_predictors[at]);
            scores[c] += predicted * clip_float(row_sum(&model_gates[at]), -1.0f, 1.0f);
        }
        if (level == MODEL_DEPTH) {
            break;
        }
#if MODEL_DEPTH > 0
        node = child(node, row_sum(&model_branches[(size_t)node * COLUMNS]) > 0.0f);
#endif
    }
    return argmax(scores);
}

#endif
