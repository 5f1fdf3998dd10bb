/* Bonsai in integers.
 *
 *     z_i  = clip(Σ_j Z_ij·x_j / 2^Z_SHIFT + b_i)      x, Z int8 or Z of 4 bits; b int16; z int8; then 127
 *     p_kc = Σ_i W_kci·z_i / 2^W_SHIFT                 sum int32, p int16
 *     t_kc = clip(Σ_i V_kci·z_i / 2^V_SHIFT)           int8: tanh(x) ≈ x within ±1, 127 being 1
 *     y_c  = Σ_k p_kc·t_kc                             over the nodes k on the path, int32
 *
 * All divisions round to nearest, halves up; clip is to ±127. From node k the path goes on to 2k+2 if
 * Σ_i T_ki·z_i > 0, else to 2k+1, so that only the nodes on the path cost time. */
#include "kernel.h"

#if defined(MODEL_FAMILY_BONSAI) && MODEL_NUMBERS == MODEL_INT8

#include "argmax.h"
#include "model_data.h"
#include "nibbles.h"
#include "nodes.h"
#include "projection_any.h"
#include "tree_path.h"

static int8_t z[NODE_COLUMNS];

/* Node sums, sixteen times what they mean where weights are of four bits. */
#if defined(MODEL_PREDICTORS_DENSE4)
#define PREDICTOR_BITS NIBBLE_BITS
#else
#define PREDICTOR_BITS 0
#endif
#if defined(MODEL_GATES_DENSE4)
#define GATE_BITS NIBBLE_BITS
#else
#define GATE_BITS 0
#endif

static inline node_t predictor_sum(uint16_t row)
{
#if PREDICTOR_BITS
    return node_packed(&model_predictors_packed[(size_t)row * PACKED_BYTES(NODE_COLUMNS)], z);
#else
    return node_i8(&model_predictors[(size_t)row * NODE_COLUMNS], z);
#endif
}

static inline node_t gate_sum(uint16_t row)
{
#if GATE_BITS
    return node_packed(&model_gates_packed[(size_t)row * PACKED_BYTES(NODE_COLUMNS)], z);
#else
    return node_i8(&model_gates[(size_t)row * NODE_COLUMNS], z);
#endif
}

static inline node_t branch_sum(uint16_t node)
{
#if MODEL_DEPTH == 0
    (void)node;
    return 0;
#elif defined(MODEL_BRANCHES_DENSE4)
    return node_packed(&model_branches_packed[(size_t)node * PACKED_BYTES(NODE_COLUMNS)], z);
#else
    return node_i8(&model_branches[(size_t)node * NODE_COLUMNS], z);
#endif
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
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        z[i] = clipped(rounded_sum(projection[i], MODEL_Z_SHIFT + PROJECTION_BITS) + flash_i16(&model_b[i]));
    }
    z[MODEL_W_ROWS] = 127;

    for (uint16_t c = 0; c < MODEL_SCORES; c++) {
        scores[c] = 0;
    }
    uint16_t node = 0;
    for (uint8_t level = 0;; level++) {
        uint16_t row = (uint16_t)(node * MODEL_SCORES);
        for (uint16_t c = 0; c < MODEL_SCORES; c++, row++) {
            const node_t predicted = rounded_node(predictor_sum(row), MODEL_W_SHIFT + PREDICTOR_BITS);
            const node_t gate = rounded_node(gate_sum(row), MODEL_V_SHIFT + GATE_BITS);
            scores[c] += gated((int16_t)predicted, clipped(gate));
        }
        if (level == MODEL_DEPTH) {
            break;
        }
        node = child(node, branch_sum(node) > 0);
    }
    return argmax(scores);
}

#endif
