/* The projection by sparse rows in blocks of columns. model_w_blocks (MODEL_W_BLOCKS8) holds, block after block,
 * of each row a count and so many pairs of gap and value; model_w_nibble_blocks (MODEL_W_BLOCKS4) a count and
 * so many bytes of value and gap, as nibbles.h reads them. Included by projection.h or projection_any.h. */
#ifndef PROJECTION_BLOCKS_H
#define PROJECTION_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "flash.h"
#include "kernel.h"
#include "model_data.h"
#include "widths.h"

enum { BLOCK_FEATURES = 128 }; /* models/blocks.py */

/* The block that comes next, or whose features have come in part. */
static const uint8_t *next_block;

/* The next value of a row; its column follows from that of the one before, 255 at first. */
#if defined(MODEL_W_BLOCKS4)

#define FIRST_BLOCK model_w_nibble_blocks

static inline int8_t next_value(const uint8_t **at, uint8_t *column)
{
    const uint8_t both = flash_u8((*at)++);
    *column = (uint8_t)(*column + (both & 15u) + 1u);
    return upper_half(both);
}

#else

#define FIRST_BLOCK model_w_blocks

static inline int8_t next_value(const uint8_t **at, uint8_t *column)
{
    *column = (uint8_t)(*column + flash_u8((*at)++));
    return (int8_t)flash_u8((*at)++);
}

#endif

/* All rows of the block, but only so many of its features, from `first` on; gives where the next block begins.
 * AVR needs it for pieces that are no blocks only, and wants it small. */
static __attribute__((noinline, optimize("Os"))) const uint8_t *fold_part(const uint8_t *block, uint8_t first,
                                                                          const int8_t *x, uint8_t count)
{
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        uint8_t column = 255;
        for (uint8_t left = flash_u8(block++); left != 0; left--) {
            const int8_t value = next_value(&block, &column);
            const uint8_t at = (uint8_t)(column - first);
            if (at < count) {
                projection[i] += value * x[at];
            }
        }
    }
    return block;
}

static void projection_begin(void)
{
    memset(projection, 0, sizeof projection);
    next_block = FIRST_BLOCK;
}

static __attribute__((noinline, optimize("Os"))) void fold_parts(uint16_t first, const int8_t *x, uint16_t count)
{
    while (count != 0) {
        const uint8_t at = first % BLOCK_FEATURES;
        const uint16_t left = MODEL_FEATURES - (first - at);
        const uint8_t rest = (uint8_t)((left < BLOCK_FEATURES ? left : BLOCK_FEATURES) - at);
        const uint8_t taken = count < rest ? (uint8_t)count : rest;
        const uint8_t *end = fold_part(next_block, at, x, taken);
        if (taken == rest) {
            next_block = end;
        }
        first = (uint16_t)(first + taken);
        x += taken;
        count = (uint16_t)(count - taken);
    }
}

#ifdef __AVR__

#if defined(MODEL_W_BLOCKS4)

static __attribute__((noinline)) const uint8_t *fold_block(const uint8_t *block, const int8_t *x)
{
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        const uint8_t count = flash_u8(block++);
        projection[i] += dot_nibble_row(block, count, x);
        block += count;
    }
    return block;
}

#else
#include "avr_blocks.h"
#endif

/* Pieces are blocks as a rule. */
static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    const bool begins = first % BLOCK_FEATURES == 0;
    const bool ends = count == BLOCK_FEATURES || (count < BLOCK_FEATURES && count == MODEL_FEATURES - first);
    if (begins && ends && count != 0) {
        next_block = fold_block(next_block, x);
    } else {
        fold_parts(first, x, count);
    }
}

#else

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    fold_parts(first, x, count);
}

#endif

#endif
