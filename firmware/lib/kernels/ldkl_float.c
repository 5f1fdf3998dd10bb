/* LDKL in float32, the unoptimised baseline.
 *
 *     r_i = Σ_j R_ij·x_j + b_i     y_c = Σ_k r_kc · clip(r'_kc) to ±1
 *
 * over the nodes k on the path; r are the rows of predictors, r' those of gates, and the path goes on from
 * node k to 2k+2 if the row of its branch is above zero, else to 2k+1. Every sum is taken in the order of its
 * index, one rounded operation after the other. */
#include "kernel.h"

#if defined(MODEL_FAMILY_LDKL) && MODEL_NUMBERS == MODEL_FLOAT32

#include "argmax.h"
#include "float_clip.h"
#include "model_data.h"
#include "projection_float.h"
#include "tree_path.h"

#define NODES ((2u << MODEL_DEPTH) - 1u)
#define GATES (NODES * MODEL_SCORES)
#define BRANCHES (2u * GATES)

static inline float row_sum(uint16_t row)
{
    return projection[row] + flash_f32(&model_b[row]);
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
    for (uint16_t c = 0; c < MODEL_SCORES; c++) {
        scores[c] = 0.0f;
    }
    uint16_t node = 0;
    for (uint8_t level = 0;; level++) {
        uint16_t row = (uint16_t)(node * MODEL_SCORES);
        for (uint16_t c = 0; c < MODEL_SCORES; c++, row++) {
            scores[c] += row_sum(row) * clip_float(row_sum((uint16_t)(GATES + row)), -1.0f, 1.0f);
        }
        if (level == MODEL_DEPTH) {
            break;
        }
        node = child(node, row_sum((uint16_t)(BRANCHES + node)) > 0.0f);
    }
    return argmax(scores);
}

#endif
