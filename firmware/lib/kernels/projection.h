/* projection[i] = Σ_j W_ij·x_j, folded piece by piece: int8 weights and features, int32 sums.
 *
 * W is model_w (MODEL_W_DENSE8: row after row) or model_w_pairs (MODEL_W_ROWS8: of each row the non-zero
 * values, each after the gap from the column before; model_w_counts says how many pairs a row has).
 * Included once, by the kernel. */
#ifndef PROJECTION_H
#define PROJECTION_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dot.h"
#include "kernel.h"
#include "model_data.h"

static int32_t projection[MODEL_W_ROWS];

#if defined(MODEL_W_DENSE8)

static void projection_begin(void) {
    memset(projection, 0, sizeof projection);
}

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count) {
    size_t at = first;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++, at += MODEL_FEATURES) {
        projection[i] += dot_i8(&model_w[at], x, count);
    }
}

#elif defined(MODEL_W_ROWS8)

/* How far each row has been read: a row's values do not end where a piece of the vector does. */
static struct {
    size_t pair;      /* the next one */
    uint16_t columns; /* how many lie before the next gap */
} cursor[MODEL_W_ROWS];

static inline uint16_t pairs_of_row(uint16_t row) {
#if MODEL_W_COUNT_BYTES == 1
    return flash_u8(&model_w_counts[row]);
#else
    return flash_u16(&model_w_counts[row]);
#endif
}

static void projection_begin(void) {
    size_t pair = 0;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        projection[i] = 0;
        cursor[i].pair = pair;
        cursor[i].columns = 0;
        pair += pairs_of_row(i);
    }
}

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count) {
    const uint16_t end = (uint16_t)(first + count);
    size_t row_end = 0;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        row_end += pairs_of_row(i);
        int32_t sum = projection[i];
        size_t pair = cursor[i].pair;
        uint16_t columns = cursor[i].columns;
        for (; pair < row_end; pair++) {
            const uint16_t next = (uint16_t)(columns + flash_u8(&model_w_pairs[2 * pair]));
            if (next > end) {
                break;
            }
            columns = next;
            sum += (int16_t)((int8_t)flash_u8(&model_w_pairs[2 * pair + 1]) * x[columns - 1 - first]);
        }
        cursor[i].pair = pair;
        cursor[i].columns = columns;
        projection[i] = sum;
    }
}

#else
#error "model.h names no layout of W that this kernel reads"
#endif

#endif
