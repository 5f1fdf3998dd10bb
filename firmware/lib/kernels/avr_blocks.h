/* The projection by sparse rows in blocks for AVR: the same integers as the C in projection_blocks.h. All rows
 * of a block at once, for the reason given in avr_rows.h, and no register but Y has to be saved.
 *
 * The block's features lie in one page of 256 bytes, so that only the low byte of X moves: a cycle less a term.
 * Cycles stand beside each line; lpm is 3, ld, st and mul 2, a taken branch 2. */
#ifndef AVR_BLOCKS_H
#define AVR_BLOCKS_H

#include <stdint.h>

#include "avr_terms.h"

/* 13, 15 or 16 cycles */
#if defined(MODEL_W_BLOCKS4)
#define AVR_BLOCK_TERM AVR_TERM_NIBBLE("")
#define COLUMNS_BEFORE 0u
#else
#define AVR_BLOCK_TERM AVR_TERM_PAIR("")
#define COLUMNS_BEFORE 1u /* the first gap counts from the column before the first */
#endif

/* A row is 26 cycles beside its terms with sums of 3 bytes, 3 more for each four of them, or 15 where the block
 * has nothing of it. */
static inline const uint8_t *fold_block(const uint8_t *block, const int8_t *x)
{
    uint8_t start = (uint8_t)((uintptr_t)x - COLUMNS_BEFORE), rows, count, a, b, sign;
    sum_t sum, *out = projection;
    __asm__ volatile("    lpm   %[rows], Z+         \n" /* 3 */
                     "    tst   %[rows]             \n" /* 1 */
                     "    brne  3f                  \n" /* 2 */
                     "    rjmp  4f                  \n" /* 2 */
                     "1:  adiw  r28, %[width]       \n" /* 2; nothing of this row */
                     "    dec   %[rows]             \n" /* 1 */
                     "    brne  3f                  \n" /* 2 */
                     "    rjmp  4f                  \n" /* 2 */
                     "2:  cpi   %A[count], 0xFC     \n" /* 1; fewer than four, or none */
                     "    breq  1b                  \n" /* 1, or 2 */
                     AVR_LOAD_SUM                       /* 4, 6 or 8 */
                     "    rjmp  22f                 \n" /* 2 */
                     "3:  lpm   %A[count], Z+       \n" /* 3; a row: how many values it has */
                     "    mov   r26, %[start]       \n" /* 1 */
                     AVR_FOUR_LESS                      /* 1 */
                     "    brcs  2b                  \n" /* 1, or 2 */
                     AVR_LOAD_SUM                       /* 4, 6 or 8 */
                     AVR_FOURS(AVR_BLOCK_TERM)
                     AVR_REST(AVR_BLOCK_TERM)
                     AVR_STORE_SUM                      /* 4, 6 or 8 */
                     "    dec   %[rows]             \n" /* 1 */
                     "    breq  4f                  \n" /* 1 */
                     "    rjmp  3b                  \n" /* 2 */
                     "4:  clr   __zero_reg__        \n" /* 1; mul left a product in r1:r0 */
                     : [sum] "=&r"(sum), [sign] "=&r"(sign), [count] "=&d"(count), [a] "=&d"(a),
                       [b] "=&d"(b), [rows] "=&r"(rows), [start] "+&r"(start), "+x"(x), "+y"(out), "+z"(block)
                     : [width] "n"(sizeof(sum_t))
                     : "r0", "memory");
    return block;
}

#endif
