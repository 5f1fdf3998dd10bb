/* The projection by sparse rows in blocks of columns. model_w_blocks (MODEL_W_BLOCKS8) holds, block after block,
 * how many rows follow, and of each row a count and so many pairs of gap and value; model_w_nibble_blocks
 * (MODEL_W_BLOCKS4) a count and so many bytes of value and gap, as nibbles.h reads them. Included by
 * projection.h or projection_any.h. */
#ifndef PROJECTION_BLOCKS_H
#define PROJECTION_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "flash.h"
#include "kernel.h"
#include "model_data.h"
#include "widths.h"

enum { BLOCK_FEATURES = 240 }; /* models/blocks.py */

/* The block that comes next, or whose features have come in part, and how many of them have. */
static const uint8_t *next_block;
static uint8_t come;

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

static void projection_begin(void)
{
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        projection[i] = 0;
    }
    next_block = FIRST_BLOCK;
    come = 0;
}

/* Of the block all rows, but only so many of its features, from the next one on; gives where the block ends.
 * AVR needs it for pieces that are no blocks only, and wants it small. */
static __attribute__((noinline, optimize("Os"))) const uint8_t *fold_part(const int8_t *x, uint8_t count)
{
    const uint8_t *next = next_block;
    const uint8_t rows = flash_u8(next++);
    for (uint8_t i = 0; i < rows; i++) {
        uint8_t column = 255;
        for (uint8_t left = flash_u8(next++); left != 0; left--) {
            const int8_t value = next_value(&next, &column);
            const uint8_t at = (uint8_t)(column - come);
            if (at < count) {
                projection[i] += value * x[at];
            }
        }
    }
    return next;
}

/* Pieces of any length. */
static __attribute__((noinline, optimize("Os"))) void fold_parts(const int8_t *x, uint16_t count)
{
    while (count != 0) {
        const uint8_t rest = (uint8_t)(BLOCK_FEATURES - come);
        const uint8_t taken = count < rest ? (uint8_t)count : rest;
        const uint8_t *end = fold_part(x, taken);
        come = (uint8_t)(come + taken);
        if (come == BLOCK_FEATURES) {
            next_block = end;
            come = 0;
        }
        x += taken;
        count = (uint16_t)(count - taken);
    }
}

#ifdef __AVR__

#include "avr_blocks.h"

/* Pieces are blocks as a rule, and lie in one page of RAM, where hal/avr puts what it receives. */
static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    const bool whole = count == BLOCK_FEATURES || (count < BLOCK_FEATURES && count == MODEL_FEATURES - first);
    const uint8_t begin = (uint8_t)(uintptr_t)x, end = (uint8_t)(begin + count);
    if (come == 0 && whole && begin < end) { /* they are equal when nothing has come */
        next_block = fold_block(next_block, x);
    } else {
        fold_parts(x, count);
    }
}

#else

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    (void)first;
    fold_parts(x, count);
}

#endif

#endif
