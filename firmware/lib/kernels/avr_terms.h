/* What the loops over sparse rows for AVR share: their terms, and how sums of every width are kept. X is at a
 * feature, Z at the stored values; loops over all rows have Y at the sum of a row. Cycles stand beside each
 * line. */
#ifndef AVR_TERMS_H
#define AVR_TERMS_H

#include "avr_dot.h"

#if MODEL_W_SUM_BYTES == 2
#define AVR_CLEAR_HIGH ""
#define AVR_LOAD_HIGH ""
#define AVR_STORE_HIGH ""
#elif MODEL_W_SUM_BYTES == 3
#define AVR_CLEAR_HIGH "    clr   %C[sum]             \n" /* 1 */
#define AVR_LOAD_HIGH  "    ldd   %C[sum], Y+2        \n" /* 2 */
#define AVR_STORE_HIGH "    st    Y+, %C[sum]         \n" /* 2 */
#else
#define AVR_CLEAR_HIGH                                    \
    "    clr   %C[sum]             \n" /* 1 */            \
    "    clr   %D[sum]             \n" /* 1 */
#define AVR_LOAD_HIGH                                     \
    "    ldd   %C[sum], Y+2        \n" /* 2 */            \
    "    ldd   %D[sum], Y+3        \n" /* 2 */
#define AVR_STORE_HIGH                                    \
    "    st    Y+, %C[sum]         \n" /* 2 */            \
    "    st    Y+, %D[sum]         \n" /* 2 */
#endif

#define AVR_LOAD_SUM                                      \
    "    ld    %A[sum], Y          \n" /* 2 */            \
    "    ldd   %B[sum], Y+1        \n" /* 2 */            \
    AVR_LOAD_HIGH                      /* 2 or 4 */

#define AVR_STORE_SUM                                     \
    "    st    Y+, %A[sum]         \n" /* 2 */            \
    "    st    Y+, %B[sum]         \n" /* 2 */            \
    AVR_STORE_HIGH                     /* 2 or 4 */

/* A gap can lead X into the next page of 256 bytes. Where all features are known to lie in one, nothing is to
 * be carried. */
#define AVR_CARRY_X "    adc   r27, %[zero]        \n" /* 1 */

/* X to the feature of the next pair: 5 cycles, or 4 within a page. */
#define AVR_GAP(carry)                                              \
    "    lpm   %[a], Z+            \n" /* 3 */                      \
    "    add   r26, %[a]           \n" /* 1 */                      \
    carry                              /* 1 */

/* That feature times the pair's value: 9, 11 or 12 cycles. */
#define AVR_VALUE                                                   \
    "    ld    %[a], X             \n" /* 2 */                      \
    "    lpm   %[b], Z+            \n" /* 3 */                      \
    AVR_PRODUCT                        /* 4, 6 or 7 */

/* A pair of gap and value: 14, 16 or 17 cycles, one less within a page. */
#define AVR_TERM_PAIR(carry) AVR_GAP(carry) AVR_VALUE

/* X to the feature of the next byte of a four-bit value and the gap less one: 7 cycles, or 6 within a page. */
#define AVR_NIBBLE_GAP(carry)                                       \
    "    lpm   %[b], Z+            \n" /* 3 */                      \
    "    mov   %[a], %[b]          \n" /* 1 */                      \
    "    andi  %[a], 0x0F          \n" /* 1 */                      \
    "    add   r26, %[a]           \n" /* 1 */                      \
    carry                              /* 1 */

/* That feature times the value, sixteen times: 7, 9 or 10 cycles. */
#define AVR_NIBBLE_VALUE                                            \
    "    ld    %[a], X+            \n" /* 2 */                      \
    "    andi  %[b], 0xF0          \n" /* 1 */                      \
    AVR_PRODUCT                        /* 4, 6 or 7 */

/* Such a byte: 14, 16 or 17 cycles, one less within a page. */
#define AVR_TERM_NIBBLE(carry) AVR_NIBBLE_GAP(carry) AVR_NIBBLE_VALUE

/* The terms of a row that has four or more, %A[count] being four less: 3 cycles for each four, at last 2. */
#define AVR_FOURS(term)                                             \
    "21:                           \n" AVR_4(term)                  \
    AVR_FOUR_LESS                      /* 1 or 2 */                 \
    "    brcc  21b                 \n" /* 2, at last 1 */

/* Those that are left, none to three by the last two bits of %A[count]: 6 to 4 cycles. */
#define AVR_REST(term)                                              \
    "22: lsr   %A[count]           \n" /* 1 */                      \
    "    brcc  23f                 \n" /* 1, or 2 */                \
    term                                                            \
    "23: lsr   %A[count]           \n" /* 1 */                      \
    "    brcc  24f                 \n" /* 1, or 2 */                \
    term term                                                       \
    "24:                           \n"

#if defined(MODEL_W_COUNT_BYTES) && MODEL_W_COUNT_BYTES == 2
#define AVR_FOUR_LESS                                     \
    "    subi  %A[count], 4        \n" /* 1 */            \
    "    sbci  %B[count], 0        \n" /* 1 */
#else
#define AVR_FOUR_LESS "    subi  %A[count], 4        \n" /* 1 */
#endif

#endif
