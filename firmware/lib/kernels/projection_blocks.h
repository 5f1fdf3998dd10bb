/* The projection by sparse rows in blocks of columns (MODEL_W_BLOCKS8): model_w_blocks holds, block after
 * block, of each row a count and so many pairs of gap and value. Included by projection.h. */
#ifndef PROJECTION_BLOCKS_H
#define PROJECTION_BLOCKS_H

#include <stdint.h>
#include <string.h>

#include "flash.h"
#include "kernel.h"
#include "model_data.h"
#include "widths.h"

enum { BLOCK_FEATURES = 128 }; /* models/blocks.py */

/* The block that comes next, or whose features have come in part. */
static const uint8_t *next_block;

#ifdef __AVR__

#include "avr_blocks.h"

#else

/* All rows of the block, whose first feature is x[0]; gives where the next block begins. */
static const uint8_t *fold_block(const uint8_t *block, const int8_t *x)
{
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        const int8_t *at = x - 1;
        for (uint8_t left = flash_u8(block++); left != 0; left--) {
            at += flash_u8(block++);
            projection[i] += (int8_t)flash_u8(block++) * *at;
        }
    }
    return block;
}

#endif

static void projection_begin(void)
{
    memset(projection, 0, sizeof projection);
    next_block = model_w_blocks;
}

/* Pieces are blocks as a rule. One that is not is folded in as a block whose other features are zero. The time
 * is in fold_block: this is to be small. */
static __attribute__((optimize("Os"))) void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    while (count != 0) {
        const uint8_t at = first % BLOCK_FEATURES;
        const uint16_t left = MODEL_FEATURES - (first - at);
        const uint8_t width = left < BLOCK_FEATURES ? (uint8_t)left : BLOCK_FEATURES;
        uint8_t taken = (uint8_t)(width - at);
        if (count >= taken && at == 0) {
            next_block = fold_block(next_block, x);
        } else {
            int8_t padded[BLOCK_FEATURES] = {0};
            taken = count < taken ? (uint8_t)count : taken;
            memcpy(padded + at, x, taken);
            const uint8_t *end = fold_block(next_block, padded);
            if (at + taken == width) {
                next_block = end;
            }
        }
        first = (uint16_t)(first + taken);
        x += taken;
        count = (uint16_t)(count - taken);
    }
}

#endif
