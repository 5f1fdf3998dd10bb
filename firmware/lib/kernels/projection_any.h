/* projection[i] = Σ_j W_ij·x_j, folded piece by piece, for every layout of integers there is.
 *
 * W is of int8 (projection.h) or of four bits: model_w_packed (MODEL_W_DENSE4: row after row, two columns a
 * byte) or model_w_nibbles (MODEL_W_ROWS4: of each row the non-zero values, a byte each, the value in the upper
 * half, the gap less one in the lower; model_w_counts says how many bytes a row has). Included once, by the
 * kernel. */
#ifndef PROJECTION_ANY_H
#define PROJECTION_ANY_H

#if !defined(MODEL_W_DENSE4) && !defined(MODEL_W_ROWS4)

#include "projection.h"

#else

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernel.h"
#include "model_data.h"
#include "nibbles.h"
#include "widths.h"

static sum_t projection[MODEL_W_ROWS];

#if defined(MODEL_W_DENSE4)

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
        const int8_t *feature = x;
        uint16_t left = count;
        sum_t sum = projection[i];
        if (first % 2 != 0) { /* the piece begins with the second column of a byte */
            sum += lower_half(flash_u8(at++)) * *feature++;
            left--;
        }
        projection[i] = (sum_t)(sum + dot_packed(at, feature, left));
    }
}

#else

/* How far each row has been read: a row's values do not end where a piece of the vector does. */
static struct {
    const uint8_t *next;
    uint16_t columns; /* how many lie before its gap */
} cursors[MODEL_W_ROWS];

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
    const uint8_t *row = model_w_nibbles;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        projection[i] = 0;
        cursors[i].next = row;
        cursors[i].columns = 0;
        row += bytes_of_row(i);
    }
}

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    const uint32_t end = (uint32_t)first + count;
    const uint8_t *row_end = model_w_nibbles;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        row_end += bytes_of_row(i);
        const uint8_t *next = cursors[i].next;
        uint16_t columns = cursors[i].columns;
        sum_t sum = projection[i];
        for (; next != row_end; next++) {
            const uint8_t both = flash_u8(next);
            const uint16_t reached = (uint16_t)(columns + (both & 15u) + 1u);
            if (reached > end) {
                break;
            }
            columns = reached;
            sum += upper_half(both) * x[columns - 1 - first];
        }
        cursors[i].next = next;
        cursors[i].columns = columns;
        projection[i] = sum;
    }
}

#endif

#endif

#endif
