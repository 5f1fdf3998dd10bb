/* LDKL in integers: a tree whose nodes look at the features themselves.
 *
 *     r_i  = Σ_j R_ij·x_j / 2^V_SHIFT + b_i     x, R int8 or R of 4 bits; b int16; r int32
 *     p_kc = r_i / 2^W_SHIFT                    of the rows of predictors, int16
 *     t_kc = clip(r_i) to ±127                  of the rows of gates: tanh(x) ≈ x within ±1, 127 being 1
 *     y_c  = Σ_k p_kc·t_kc                      over the nodes k on the path, int32
 *
 * The rows of R are those of the predictors, node after node, then those of the gates, then one a branch.
 * From node k the path goes on to 2k+2 if r > 0 for its branch, else to 2k+1. All divisions round to nearest,
 * halves up. Every row is summed while the features arrive, because the path is only known at the end. */
#include "kernel.h"

#if defined(MODEL_FAMILY_LDKL) && MODEL_NUMBERS == MODEL_INT8

#include "argmax.h"
#include "model_data.h"
#include "projection_any.h"
#include "tree_path.h"

#define NODES ((2u << MODEL_DEPTH) - 1u)
#define GATES (NODES * MODEL_SCORES)
#define BRANCHES (2u * GATES)

static inline int32_t row_sum(uint16_t row)
{
    return shifted(projection[row], MODEL_V_SHIFT + PROJECTION_BITS) + flash_i16(&model_b[row]);
}

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
        scores[c] = 0;
    }
    uint16_t node = 0;
    for (uint8_t level = 0;; level++) {
        uint16_t row = (uint16_t)(node * MODEL_SCORES);
        for (uint16_t c = 0; c < MODEL_SCORES; c++, row++) {
            const int16_t predicted = (int16_t)shifted(row_sum(row), MODEL_W_SHIFT);
            scores[c] += (int32_t)predicted * clip_unit(row_sum((uint16_t)(GATES + row)));
        }
        if (level == MODEL_DEPTH) {
            break;
        }
        node = child(node, row_sum((uint16_t)(BRANCHES + node)) > 0);
    }
    return argmax(scores);
}

#endif
