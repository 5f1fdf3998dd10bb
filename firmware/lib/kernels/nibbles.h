/* Weights of four bits in flash, two a byte: models/nibbles.py says how they lie.
 *
 * All sums here are sixteen times what they mean: a weight is used where it lies, in the upper half of a
 * byte, and the shift that follows anyway drops NIBBLE_BITS more. avr_nibbles.h has the same for AVR. */
#ifndef NIBBLES_H
#define NIBBLES_H

#include <stdint.h>

#include "flash.h"
#include "widths.h"

#define NIBBLE_BITS 4

/* Bytes of a packed row of so many columns. */
#define PACKED_BYTES(columns) (((columns) + 1u) / 2u)

/* Columns of the short rows inside of a model: what came of the projection, and a constant. */
#define NODE_COLUMNS (MODEL_W_ROWS + 1u)

/* How wide their sums are. Where the exporter does not say it: of 520 terms of at most 127·127, or 16·7·127,
 * none leaves 24 bits. */
#if defined(MODEL_NODE_SUM_BYTES)
#define NODE_SUM_BYTES MODEL_NODE_SUM_BYTES
#elif MODEL_W_ROWS < 520
#define NODE_SUM_BYTES 3
#else
#define NODE_SUM_BYTES 4
#endif

/* Where the reading of a sparse row stands. */
typedef struct {
    const uint8_t *next; /* value and gap */
    uint16_t columns;    /* how many lie before its gap */
} nibble_cursor_t;

/* The two weights of a byte, each sixteen times. */
static inline int8_t upper_half(uint8_t both)
{
    return (int8_t)(both & 0xF0u);
}

static inline int8_t lower_half(uint8_t both)
{
    return (int8_t)(uint8_t)(both << 4);
}

#ifdef __AVR__
#include "avr_nibbles.h"
#else

typedef int32_t node_t;

/* sum + Σ w[i]·x[i] over a packed row */
static inline sum_t dot_packed(sum_t sum, const uint8_t *row, const int8_t *x, uint16_t count)
{
    for (; count > 1; count -= 2) {
        const uint8_t both = flash_u8(row++);
        sum += upper_half(both) * *x++;
        sum += lower_half(both) * *x++;
    }
    if (count != 0) {
        sum += upper_half(flash_u8(row)) * *x;
    }
    return sum;
}

/* The same for a row of NODE_COLUMNS inside of a model, whose sums have a width of their own. */
static inline node_t node_packed(const uint8_t *row, const int8_t *z)
{
    return dot_packed(0, row, z, NODE_COLUMNS);
}

/* Σ w[i]·z[i] over a row of int8; not sixteen times. */
static inline node_t node_i8(const int8_t *row, const int8_t *z)
{
    node_t sum = 0;
    for (uint16_t count = NODE_COLUMNS; count != 0; count--) {
        sum += flash_i8(row++) * *z++;
    }
    return sum;
}

/* sum + the terms of a sparse row whose columns are below first + count; x[0] is column `first`. The cursor
 * moves past them. */
static inline sum_t dot_nibbles(sum_t sum, nibble_cursor_t *cursor, const uint8_t *row_end, uint16_t first,
                                const int8_t *x, uint16_t count)
{
    for (; cursor->next != row_end; cursor->next++) {
        const uint8_t both = flash_u8(cursor->next);
        const uint32_t column = (uint32_t)cursor->columns + (both & 15u);
        if (column >= (uint32_t)first + count) {
            break;
        }
        sum += upper_half(both) * x[column - first];
        cursor->columns = (uint16_t)(column + 1);
    }
    return sum;
}

/* The same for a whole row and the whole vector: no column needs to be looked at. */
static inline sum_t dot_nibble_row(const uint8_t *row, uint16_t count, const int8_t *x)
{
    sum_t sum = 0;
    for (; count != 0; count--) {
        const uint8_t both = flash_u8(row++);
        x += both & 15u;
        sum += upper_half(both) * *x++;
    }
    return sum;
}

#endif

#endif
