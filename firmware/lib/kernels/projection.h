/* projection[i] = Σ_j W_ij·x_j, folded piece by piece: int8 weights and features, sums as wide as is proven
 * necessary (widths.h).
 *
 * W is model_w (MODEL_W_DENSE8: row after row), model_w_pairs (MODEL_W_ROWS8: of each row the non-zero
 * values, each after the gap from the column before; model_w_counts says how many pairs a row has),
 * model_w_blocks (MODEL_W_BLOCKS8: the same in blocks of columns, projection_blocks.h), model_w_signs
 * (MODEL_W_SIGNS8: columns alone, of weights of one magnitude, projection_signs.h) or model_w_code
 * (MODEL_W_CODE8: straight-line code for AVR, models/straightline.py). Included once, by the kernel. */
#ifndef PROJECTION_H
#define PROJECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dot.h"
#include "kernel.h"
#include "model_data.h"

#ifndef projection /* else the kernel has a place for it */
static sum_t projection[MODEL_W_ROWS];
#endif

#if defined(MODEL_W_DENSE8)

#if WHOLE_VECTORS

static void projection_begin(void)
{
}

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    (void)first;
    (void)count;
    const int8_t *row = model_w;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++, row += MODEL_FEATURES) {
        projection[i] = dot_whole(row, x);
    }
}

#else

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

#endif

#elif defined(MODEL_W_ROWS8)

#if MODEL_W_COUNT_BYTES == 1
typedef uint8_t pairs_t;
#else
typedef uint16_t pairs_t;
#endif

static inline pairs_t pairs_of_row(uint16_t row)
{
#if MODEL_W_COUNT_BYTES == 1
    return flash_u8(&model_w_counts[row]);
#else
    return flash_u16(&model_w_counts[row]);
#endif
}

#if WHOLE_VECTORS

#ifdef __AVR__

#include "avr_rows.h"

#else

/* No column needs to be looked at: a row is read to its end. */
static inline void fold_rows(const int8_t *x)
{
    const uint8_t *pair = model_w_pairs;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        const int8_t *at = x - 1; /* the first gap counts from the column before the first */
        sum_t sum = 0;
        for (pairs_t left = pairs_of_row(i); left != 0; left--) {
            at += flash_u8(pair++);
            sum += (int8_t)flash_u8(pair++) * *at;
        }
        projection[i] = sum;
    }
}

#endif

static void projection_begin(void)
{
}

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    (void)first;
    (void)count;
    fold_rows(x);
}

#else

/* How far each row has been read: a row's values do not end where a piece of the vector does. */
static struct {
    const uint8_t *pair; /* the next one: gap, value */
    uint16_t columns;    /* how many lie before its gap */
    pairs_t left;
} cursors[MODEL_W_ROWS];

#ifdef __AVR__

#include "avr_rows.h"

#else

static inline void fold_rows(uint16_t first, const int8_t *x, uint16_t count)
{
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        for (; cursors[i].left != 0; cursors[i].left--) {
            const uint32_t columns = (uint32_t)cursors[i].columns + flash_u8(cursors[i].pair);
            if (columns > (uint32_t)first + count) {
                break;
            }
            projection[i] += (int8_t)flash_u8(cursors[i].pair + 1) * x[columns - 1 - first];
            cursors[i].columns = (uint16_t)columns;
            cursors[i].pair += 2;
        }
    }
}

#endif

static void projection_begin(void)
{
    const uint8_t *pair = model_w_pairs;
    memset(projection, 0, sizeof projection);
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        cursors[i].pair = pair;
        cursors[i].columns = 0;
        cursors[i].left = pairs_of_row(i);
        pair += 2 * cursors[i].left;
    }
}

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    fold_rows(first, x, count);
}

#endif

#elif defined(MODEL_W_BLOCKS8)

#include "projection_blocks.h"

#elif defined(MODEL_W_SIGNS8)

#include "projection_signs.h"

#elif defined(MODEL_W_CODE8)

#ifdef __AVR__

#if !WHOLE_VECTORS
#error "straight-line code takes whole vectors only"
#endif

#include "avr_code.h"

static void projection_begin(void)
{
}

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    (void)first;
    (void)count;
    run_code(x);
}

#else

/* Another processor reads the weights out of the instructions: of the words only those count that name a
 * column, a weight, or the end of a row. */
static inline bool is_word(uint16_t word, uint16_t mask, uint16_t bits)
{
    return (word & mask) == bits;
}

static void projection_begin(void)
{
    memset(projection, 0, sizeof projection);
}

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    const uint16_t *code = model_w_code;
    uint32_t at = 0, column = 0;
    for (uint16_t i = 0; i < MODEL_W_ROWS; code++) {
        const uint16_t word = *code;
        if (is_word(word, 0xD3F8, 0x8168)) { /* ldd r22, Y+q */
            column = at + ((word >> 8 & 0x20u) | (word >> 7 & 0x18u) | (word & 0x07u));
        } else if (is_word(word, 0xF0F0, 0xE070)) { /* ldi r23, weight */
            const int8_t weight = (int8_t)(uint8_t)((word >> 4 & 0xF0u) | (word & 0x0Fu));
            if (column >= first && column < (uint32_t)first + count) {
                projection[i] += weight * x[column - first];
            }
        } else if (is_word(word, 0xFF30, 0x9620)) { /* adiw r28, step */
            at += (word >> 2 & 0x30u) | (word & 0x0Fu);
        } else if (word == 0x9509) { /* icall */
            at = 0;
            i++;
        }
    }
}

#endif

#else
#error "model.h names no layout of W that this kernel reads"
#endif

#endif
