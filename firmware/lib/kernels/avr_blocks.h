/* The projection by sparse rows in blocks for AVR: the same integers as the C in projection_blocks.h. All rows
 * of a block at once, for the reason given in avr_rows.h, whose terms these are. Cycles stand beside each
 * line; lpm is 3, ld, st and mul 2, a taken branch 2. */
#ifndef AVR_BLOCKS_H
#define AVR_BLOCKS_H

#include <stdint.h>

#include "avr_terms.h"

/* 14, 16 or 17 cycles a term, 3 for each four and for each that is left alone. A row is 31 more with sums of 3
 * bytes, or 15 where the block has nothing of it. */
static __attribute__((noinline)) const uint8_t *fold_block(const uint8_t *block, const int8_t *x)
{
    const int8_t *before = x - 1; /* the first gap counts from the column before the first */
    register sum_t sum __asm__("r18");
    register uint8_t sign __asm__("r16");
    __asm__ volatile("    push  r28                 \n" /* 2 */
                     "    push  r29                 \n" /* 2 */
                     "    movw  r8, r26             \n" /* 1 */
                     "    clr   r15                 \n" /* 1 */
                     "    ldi   r28, lo8(%[out])    \n" /* 1 */
                     "    ldi   r29, hi8(%[out])    \n" /* 1 */
                     "1:  lpm   r24, Z+             \n" /* 3; a row: how many pairs it has */
                     "    tst   r24                 \n" /* 1 */
                     "    brne  2f                  \n" /* 2, or 1 and then */
                     "    adiw  r28, %[width]       \n" /* 2 */
                     "    rjmp  6f                  \n" /* 2 */
                     "2:  movw  r26, r8             \n" /* 1 */
                     "    ld    %A[sum], Y          \n" /* 2 */
                     "    ldd   %B[sum], Y+1        \n" /* 2 */
                     AVR_LOAD_HIGH                      /* 2 or 4 */
                     "    mov   r17, r24            \n" /* 1 */
                     "    andi  r17, 3              \n" /* 1 */
                     "    breq  4f                  \n" /* 1, or 2 */
                     "3:                            \n"
                     AVR_GAP                            /* 5 */
                     AVR_VALUE                          /* 9, 11 or 12 */
                     "    dec   r17                 \n" /* 1 */
                     "    brne  3b                  \n" /* 2, at last 1 */
                     "4:  lsr   r24                 \n" /* 1 */
                     "    lsr   r24                 \n" /* 1 */
                     "    breq  5f                  \n" /* 1, or 2 */
                     "7:                            \n"
                     AVR_4(AVR_GAP AVR_VALUE)
                     "    dec   r24                 \n" /* 1 */
                     "    brne  7b                  \n" /* 2, at last 1 */
                     "5:  st    Y+, %A[sum]         \n" /* 2 */
                     "    st    Y+, %B[sum]         \n" /* 2 */
                     AVR_STORE_HIGH                     /* 2 or 4 */
                     "6:  ldi   r22, hi8(%[end])    \n" /* 1 */
                     "    cpi   r28, lo8(%[end])    \n" /* 1 */
                     "    cpc   r29, r22            \n" /* 1 */
                     "    breq  8f                  \n" /* 1 */
                     "    rjmp  1b                  \n" /* 2 */
                     "8:  pop   r29                 \n" /* 2 */
                     "    pop   r28                 \n" /* 2 */
                     "    clr   __zero_reg__        \n" /* 1; mul left a product in r1:r0 */
                     : [sum] "=&r"(sum), [sign] "=&r"(sign), "+x"(before), "+z"(block)
                     : [out] "i"(projection), [end] "i"(projection + MODEL_W_ROWS),
                       [width] "n"(sizeof(sum_t))
                     : "r8", "r9", "r15", "r17", "r22", "r23", "r24", "r0", "memory");
    return block;
}

#endif
