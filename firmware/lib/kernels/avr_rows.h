/* The projection by a sparse matrix for AVR: the same integers as the C in projection.h.
 *
 * All rows at once, because a sparse row is short: what a compiler does between two rows costs as much as
 * three or four terms. Included by projection.h after its arrays, which are named where they are used: their
 * addresses are constants. Cycles stand beside each line; lpm is 3, ld, st and mul 2, a taken branch 2. */
#ifndef AVR_ROWS_H
#define AVR_ROWS_H

#include <stdint.h>

#include "avr_terms.h"

#if WHOLE_VECTORS

#if MODEL_W_COUNT_BYTES == 1
#define AVR_READ_COUNT "    lpm   %A[count], Z+       \n" /* 3 */
#else
#define AVR_READ_COUNT                                    \
    "    lpm   %A[count], Z+       \n" /* 3 */            \
    "    lpm   %B[count], Z+       \n" /* 3 */
#endif

/* Of every row all terms: 14, 16 or 17 cycles each. A row is 34 more with sums of 3 bytes and counts of one,
 * and 3 for each four of its pairs. */
static inline void fold_rows(const int8_t *x)
{
    const int8_t *before = x - 1; /* the first gap counts from the column before the first */
    register sum_t sum __asm__("r18");
    register uint8_t a __asm__("r22"), b __asm__("r23"), sign __asm__("r16"), zero __asm__("r15");
    register pairs_t count __asm__("r24");
    __asm__ volatile("    push  r28                 \n" /* 2 */
                     "    push  r29                 \n" /* 2 */
                     "    movw  r8, r26             \n" /* 1 */
                     "    clr   %[zero]             \n" /* 1 */
                     "    ldi   r28, lo8(%[out])    \n" /* 1 */
                     "    ldi   r29, hi8(%[out])    \n" /* 1 */
                     "    ldi   r30, lo8(%[counts]) \n" /* 1 */
                     "    ldi   r31, hi8(%[counts]) \n" /* 1 */
                     "    movw  r10, r30            \n" /* 1 */
                     "    ldi   r30, lo8(%[pairs])  \n" /* 1 */
                     "    ldi   r31, hi8(%[pairs])  \n" /* 1 */
                     "1:  movw  r12, r30            \n" /* 1; a row: how many pairs it has */
                     "    movw  r30, r10            \n" /* 1 */
                     AVR_READ_COUNT                     /* 3 or 6 */
                     "    movw  r10, r30            \n" /* 1 */
                     "    movw  r30, r12            \n" /* 1 */
                     "    movw  r26, r8             \n" /* 1 */
                     "    clr   %A[sum]             \n" /* 1 */
                     "    clr   %B[sum]             \n" /* 1 */
                     AVR_CLEAR_HIGH                     /* 1 or 2 */
                     AVR_FOUR_LESS                      /* 1 or 2 */
                     "    brcs  22f                 \n" /* 1, or 2 */
                     AVR_FOURS(AVR_TERM_PAIR(AVR_CARRY_X))
                     AVR_REST(AVR_TERM_PAIR(AVR_CARRY_X))
                     AVR_STORE_SUM                      /* 4, 6 or 8 */
                     "    ldi   r22, hi8(%[end])    \n" /* 1 */
                     "    cpi   r28, lo8(%[end])    \n" /* 1 */
                     "    cpc   r29, r22            \n" /* 1 */
                     "    breq  2f                  \n" /* 1 */
                     "    rjmp  1b                  \n" /* 2 */
                     "2:  pop   r29                 \n" /* 2 */
                     "    pop   r28                 \n" /* 2 */
                     "    clr   __zero_reg__        \n" /* 1; mul left a product in r1:r0 */
                     : [sum] "=&r"(sum), [sign] "=&r"(sign), [a] "=&r"(a), [b] "=&r"(b), [zero] "=&r"(zero),
                       [count] "=&r"(count), "+x"(before)
                     : [out] "i"(projection), [end] "i"(projection + MODEL_W_ROWS),
                       [counts] "i"(model_w_counts), [pairs] "i"(model_w_pairs)
                     : "r8", "r9", "r10", "r11", "r12", "r13",
                       "r30", "r31", "r0", "memory");
}

#else

#if MODEL_W_COUNT_BYTES == 1
#define AVR_LOAD_LEFT  "    ld    r24, X+             \n" /* 2 */ \
                       "    tst   r24                 \n" /* 1 */
#define AVR_LESS_LEFT  "    dec   r24                 \n" /* 1 */
#define AVR_STORE_LEFT "    st    X+, r24             \n" /* 2 */
#else
#define AVR_LOAD_LEFT  "    ld    r24, X+             \n" /* 2 */ \
                       "    ld    r25, X+             \n" /* 2 */ \
                       "    sbiw  r24, 0              \n" /* 2 */
#define AVR_LESS_LEFT  "    sbiw  r24, 1              \n" /* 2 */
#define AVR_STORE_LEFT "    st    X+, r24             \n" /* 2 */ \
                       "    st    X+, r25             \n" /* 2 */
#endif

/* Of every row the terms of this piece: 20, 22 or 23 cycles each, and 63 a row with sums of 3 bytes and
 * counts of one, or 24 when nothing is left of it. */
static inline void fold_rows(uint16_t first, const int8_t *x, uint16_t count)
{
    const int8_t *limit = x + count;
    uint16_t before = (uint16_t)((uint16_t)x - first - 1); /* where column -1 would be */
    register sum_t sum __asm__("r18");
    register uint8_t a __asm__("r22"), b __asm__("r23"), sign __asm__("r16"), zero __asm__("r15");
    __asm__ volatile("    push  r28                 \n" /* 2 */
                     "    push  r29                 \n" /* 2 */
                     "    movw  r8, r26             \n" /* 1 */
                     "    movw  r10, r30            \n" /* 1 */
                     "    clr   %[zero]             \n" /* 1 */
                     "    ldi   r26, lo8(%[rows])   \n" /* 1 */
                     "    ldi   r27, hi8(%[rows])   \n" /* 1 */
                     "    ldi   r28, lo8(%[out])    \n" /* 1 */
                     "    ldi   r29, hi8(%[out])    \n" /* 1 */
                     "1:  movw  r12, r26            \n" /* 1; a row: where its reading stands */
                     "    ld    r30, X+             \n" /* 2 */
                     "    ld    r31, X+             \n" /* 2 */
                     "    ld    r22, X+             \n" /* 2 */
                     "    ld    r23, X+             \n" /* 2 */
                     AVR_LOAD_LEFT                      /* 3 or 6 */
                     "    breq  5f                  \n" /* 1, or 2 */
                     "    movw  r26, r22            \n" /* 1 */
                     "    add   r26, r8             \n" /* 1 */
                     "    adc   r27, r9             \n" /* 1 */
                     "    ld    %A[sum], Y          \n" /* 2 */
                     "    ldd   %B[sum], Y+1        \n" /* 2 */
                     AVR_LOAD_HIGH                      /* 2 or 4 */
                     "2:                            \n"
                     AVR_GAP(AVR_CARRY_X)               /* 5 */
                     "    cp    r26, r10            \n" /* 1 */
                     "    cpc   r27, r11            \n" /* 1 */
                     "    brsh  3f                  \n" /* 1 */
                     AVR_VALUE                          /* 9, 11 or 12 */
                     AVR_LESS_LEFT                      /* 1 or 2 */
                     "    brne  2b                  \n" /* 2 */
                     "    rjmp  4f                  \n" /* 2 */
                     "3:  sub   r26, r22            \n" /* 1; beyond this piece: put the gap back */
                     "    sbc   r27, %[zero]        \n" /* 1 */
                     "    sbiw  r30, 1              \n" /* 2 */
                     "4:  movw  r22, r26            \n" /* 1 */
                     "    sub   r22, r8             \n" /* 1 */
                     "    sbc   r23, r9             \n" /* 1 */
                     "    movw  r26, r12            \n" /* 1 */
                     "    st    X+, r30             \n" /* 2 */
                     "    st    X+, r31             \n" /* 2 */
                     "    st    X+, r22             \n" /* 2 */
                     "    st    X+, r23             \n" /* 2 */
                     AVR_STORE_LEFT                     /* 2 or 4 */
                     "    st    Y+, %A[sum]         \n" /* 2 */
                     "    st    Y+, %B[sum]         \n" /* 2 */
                     AVR_STORE_HIGH                     /* 2 or 4 */
                     "    rjmp  6f                  \n" /* 2 */
                     "5:  adiw  r28, %[width]       \n" /* 2 */
                     "6:  ldi   r22, hi8(%[end])    \n" /* 1 */
                     "    cpi   r28, lo8(%[end])    \n" /* 1 */
                     "    cpc   r29, r22            \n" /* 1 */
                     "    brne  1b                  \n" /* 2 */
                     "    pop   r29                 \n" /* 2 */
                     "    pop   r28                 \n" /* 2 */
                     "    clr   __zero_reg__        \n" /* 1; mul left a product in r1:r0 */
                     : [sum] "=&r"(sum), [sign] "=&r"(sign), [a] "=&r"(a), [b] "=&r"(b), [zero] "=&r"(zero),
                       "+x"(before), "+z"(limit)
                     : [rows] "i"(cursors), [out] "i"(projection), [end] "i"(projection + MODEL_W_ROWS),
                       [width] "n"(sizeof(sum_t))
                     : "r8", "r9", "r10", "r11", "r12", "r13", "r24", "r25", "r0",
                       "memory");
}

#endif

#endif
