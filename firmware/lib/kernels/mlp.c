/* A perceptron with one hidden layer, in integers.
 *
 *     h_i = Σ_j W_ij·x_j / 2^H_SHIFT + b_i, clipped to 0 … 127     x, W int8 or W of 4 bits; b int16; h int8
 *     y_c = Σ_i O_ci·h_i                                           O int8 or of 4 bits; int32
 *
 * The last h is the constant 127. The division rounds to nearest, halves up. */
#include "kernel.h"

#if defined(MODEL_FAMILY_MLP) && MODEL_NUMBERS == MODEL_INT8

#include "argmax.h"
#include "model_data.h"
#include "nibbles.h"
#include "nodes.h"
#include "projection_any.h"

static int8_t h[NODE_COLUMNS];

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
        const wide_t sum = rounded_sum(projection[i], MODEL_H_SHIFT + PROJECTION_BITS);
        const int8_t unit = clipped(sum + flash_i16(&model_b[i]));
        h[i] = unit < 0 ? 0 : unit;
    }
    h[MODEL_W_ROWS] = 127;

    size_t at = 0;
    for (uint16_t c = 0; c < MODEL_SCORES; c++) {
#if defined(MODEL_OUT_DENSE4)
        scores[c] = rounded_node(node_packed(&model_out_packed[at], h), NIBBLE_BITS);
        at += PACKED_BYTES(NODE_COLUMNS);
#else
        scores[c] = node_i8(&model_out[at], h);
        at += NODE_COLUMNS;
#endif
    }
    return argmax(scores);
}

#endif
