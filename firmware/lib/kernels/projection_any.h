/* projection[i] = Σ_j W_ij·x_j · 2^PROJECTION_BITS, folded piece by piece, for every layout of integers.
 *
 * W is of int8 (projection.h) or of four bits: model_w_packed (MODEL_W_DENSE4: row after row, two columns a
 * byte) or model_w_nibbles (MODEL_W_ROWS4: of each row the non-zero values, a byte each, the value in the
 * upper half, the gap less one in the lower; model_w_counts says how many bytes a row has), or the latter in
 * blocks of columns (MODEL_W_BLOCKS4). Included once, by the kernel. */
#ifndef PROJECTION_ANY_H
#define PROJECTION_ANY_H

#include "nibbles.h"

#if !defined(MODEL_W_DENSE4) && !defined(MODEL_W_ROWS4) && !defined(MODEL_W_BLOCKS4)

#include "projection.h"

#define PROJECTION_BITS 0

#else

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernel.h"
#include "model_data.h"

#define PROJECTION_BITS NIBBLE_BITS

#ifndef projection /* else the kernel has a place for it */
static sum_t projection[MODEL_W_ROWS];
#endif

#if defined(MODEL_W_BLOCKS4)

#include "projection_blocks.h"

#elif defined(MODEL_W_DENSE4)

static void projection_begin(void)
{
    memset(projection, 0, sizeof projection);
}

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    if (count == 0) {
        return;
    }
    const uint8_t *row = model_w_packed;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++, row += PACKED_BYTES(MODEL_FEATURES)) {
        const uint8_t *at = row + first / 2;
        sum_t sum = projection[i];
        if (first % 2 != 0) { /* the piece begins with the second column of a byte */
            sum += lower_half(flash_u8(at)) * *x;
            projection[i] = dot_packed(sum, at + 1, x + 1, (uint16_t)(count - 1));
        } else {
            projection[i] = dot_packed(sum, at, x, count);
        }
    }
}

#else

static inline uint16_t bytes_of_row(uint16_t row)
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
    const uint8_t *row = model_w_nibbles;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        const uint16_t bytes = bytes_of_row(i);
        projection[i] = dot_nibble_row(row, bytes, x);
        row += bytes;
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
static nibble_cursor_t cursors[MODEL_W_ROWS];

static void fold_piece(uint16_t first, const int8_t *x, uint16_t count)
{
    const uint8_t *row = model_w_nibbles;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        if (first == 0) {
            projection[i] = 0;
            cursors[i].next = row;
            cursors[i].columns = 0;
        }
        row += bytes_of_row(i);
        projection[i] = dot_nibbles(projection[i], &cursors[i], row, first, x, count);
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

#endif

#endif

#endif
