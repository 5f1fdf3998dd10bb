/* projection[i] = Σ_j W_ij·x_j, folded piece by piece: int8 weights and features, sums as wide as is proven
 * necessary (widths.h).
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

static sum_t projection[MODEL_W_ROWS];

#if defined(MODEL_W_DENSE8)

static void projection_begin(void)
{
    memset(projection, 0, sizeof projection);
}

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    size_t at = first;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++, at += MODEL_FEATURES) {
        projection[i] = dot_i8(projection[i], &model_w[at], x, count);
    }
}

#elif defined(MODEL_W_ROWS8)

static inline uint16_t pairs_of_row(uint16_t row)
{
#if MODEL_W_COUNT_BYTES == 1
    return flash_u8(&model_w_counts[row]);
#else
    return flash_u16(&model_w_counts[row]);
#endif
}

static void projection_begin(void)
{
    /* The first piece sets everything, so that a vector in one piece needs no cursors. */
}

static void fold_whole(const int8_t *x)
{
    const uint8_t *pairs = model_w_pairs;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        const uint16_t in_row = pairs_of_row(i);
        projection[i] = dot_row(pairs, in_row, x);
        pairs += 2 * in_row;
    }
}

#if WHOLE_VECTORS

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    (void)first;
    (void)count;
    fold_whole(x);
}

#else

/* How far each row has been read: a row's values do not end where a piece of the vector does. */
static cursor_t cursors[MODEL_W_ROWS];

static void fold_piece(uint16_t first, const int8_t *x, uint16_t count)
{
    const uint8_t *pairs = model_w_pairs;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        if (first == 0) {
            projection[i] = 0;
            cursors[i].pair = pairs;
            cursors[i].columns = 0;
        }
        pairs += 2 * pairs_of_row(i);
        projection[i] = dot_pairs(projection[i], &cursors[i], pairs, first, x, count);
    }
}

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    if (count == MODEL_FEATURES) {
        fold_whole(x);
    } else if (count != 0) { /* an empty piece may follow the whole vector, which has set no cursors */
        fold_piece(first, x, count);
    }
}

#endif

#else
#error "model.h names no layout of W that this kernel reads"
#endif

#endif
