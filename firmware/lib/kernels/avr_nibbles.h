/* The inner loops of nibbles.h for AVR, in the manner of avr_dot.h and avr_terms.h, whose macros they use. Cycles stand
 * beside each line; lpm is 3, ld and mul 2, a taken branch 2. */
#ifndef AVR_NIBBLES_H
#define AVR_NIBBLES_H

#include <stdint.h>

#include "avr_terms.h"

#if NODE_SUM_BYTES == 3
typedef __int24 node_t;
#define NODE_WORDS "7"
#define NODE_PACKED_WORDS "17"
#define NODE_ADD_HIGH "    adc   %C[sum], %[sign]  \n" /* 1 */
#else
typedef int32_t node_t;
#define NODE_WORDS "8"
#define NODE_PACKED_WORDS "19"
#define NODE_ADD_HIGH "    adc   %C[sum], %[sign]  \n" /* 1 */ \
                      "    adc   %D[sum], %[sign]  \n" /* 1 */
#endif
#define NODE_EXTEND "    sbc   %[sign], %[sign]  \n" /* 1 */

/* A byte with two weights: 19, 23 or 25 cycles with sums of 2, 3 or 4 bytes. */
#define AVR_PACKED(extend, add_high)                         \
    "    lpm   %[b], Z+          \n" /* 3 */                 \
    "    ld    %[a], X+          \n" /* 2 */                 \
    "    mov   %[c], %[b]        \n" /* 1 */                 \
    "    andi  %[c], 0xF0        \n" /* 1 */                 \
    AVR_PRODUCT_TO("%[c]", extend, add_high) /* 4, 6 or 7 */ \
    "    ld    %[a], X+          \n" /* 2 */                 \
    "    swap  %[b]              \n" /* 1 */                 \
    "    andi  %[b], 0xF0        \n" /* 1 */                 \
    AVR_PRODUCT_TO("%[b]", extend, add_high) /* 4, 6 or 7 */

/* sum + Σ w[i]·x[i] over a packed row */
static inline sum_t dot_packed(sum_t sum, const uint8_t *row, const int8_t *x, uint16_t count)
{
    uint16_t rounds = count / 16;
    uint8_t rest = (uint8_t)(count / 2 % 8), a, b, c, sign;
    __asm__ volatile(AVR_LOOP(AVR_PACKED(AVR_EXTEND, AVR_ADD_HIGH))
                     : [sum] "+r"(sum), [rounds] "+w"(rounds), [rest] "+d"(rest), [a] "=&d"(a),
                       [b] "=&d"(b), [c] "=&d"(c), [sign] "=&r"(sign), "+x"(x), "+z"(row)
                     :
                     : "r0", "memory");
    if (count % 2 != 0) {
        sum += upper_half(flash_u8(row)) * *x;
    }
    return sum;
}

/* The same for a row of NODE_COLUMNS inside of a model, whose sums have a width of their own: 23 or 25 cycles
 * two terms, 5 a round of eight. Predictors, gates and branches share one copy of it. */
static __attribute__((noinline, unused)) node_t node_packed(const uint8_t *row, const int8_t *z)
{
    node_t sum = 0;
    uint16_t rounds;
    uint8_t a, b, c, sign;
    __asm__ volatile(AVR_ROUNDS(4, NODE_PACKED_WORDS, AVR_PACKED(NODE_EXTEND, NODE_ADD_HIGH))
                     : [sum] "+r"(sum), [rounds] "=&w"(rounds), [a] "=&d"(a), [b] "=&d"(b), [c] "=&d"(c),
                       [sign] "=&r"(sign), "+x"(z), "+z"(row)
                     : [count] "n"(NODE_COLUMNS / 2)
                     : "r0", "memory");
    if (NODE_COLUMNS % 2 != 0) {
        sum += upper_half(flash_u8(row)) * *z;
    }
    return sum;
}

/* Σ w[i]·z[i] over a row of int8; not sixteen times: 11 or 12 cycles a term, 4 or 5 a round of eight */
static __attribute__((noinline, unused)) node_t node_i8(const int8_t *row, const int8_t *z)
{
    node_t sum = 0;
    uint16_t rounds;
    uint8_t a, b, sign;
    __asm__ volatile(
        AVR_ROUNDS(8, NODE_WORDS, AVR_DENSE_TO(NODE_EXTEND, NODE_ADD_HIGH))
        : [sum] "+r"(sum), [rounds] "=&w"(rounds), [a] "=&d"(a), [b] "=&d"(b), [sign] "=&r"(sign), "+x"(z),
          "+z"(row)
        : [count] "n"(NODE_COLUMNS)
        : "r0", "memory");
    return sum;
}

/* sum + the terms of a sparse row whose columns are below first + count; x[0] is column `first`. The cursor
 * moves past them. 22, 24 or 25 cycles a term. */
static inline sum_t dot_nibbles(sum_t sum, nibble_cursor_t *cursor, const uint8_t *row_end, uint16_t first,
                                const int8_t *x, uint16_t count)
{
    const uint8_t *next = cursor->next;
    const int8_t *limit = x + count;
    uint16_t at = (uint16_t)((uint16_t)x + cursor->columns - first);
    uint8_t a, b, sign;
    __asm__ volatile(
        "1:  cp    %A[next], %A[end]   \n" /* 1 */
        "    cpc   %B[next], %B[end]   \n" /* 1 */
        "    breq  3f                  \n" /* 1 */
        AVR_NIBBLE_GAP(AVR_CARRY_X)        /* 7 */
        "    cp    %A[at], %A[limit]   \n" /* 1 */
        "    cpc   %B[at], %B[limit]   \n" /* 1 */
        "    brsh  2f                  \n" /* 1 */
        AVR_NIBBLE_VALUE                   /* 7, 9 or 10 */
        "    rjmp  1b                  \n" /* 2 */
        "2:  sub   %A[at], %[a]        \n" /* beyond this piece: put the gap back */
        "    sbc   %B[at], %[zero]     \n"
        "    sbiw  %[next], 1          \n"
        "3:  clr   __zero_reg__        \n"
        : [sum] "+r"(sum), [at] "+x"(at), [next] "+z"(next), [a] "=&d"(a), [b] "=&d"(b),
          [sign] "=&r"(sign)
        : [end] "r"(row_end), [limit] "r"(limit), [zero] "r"((uint8_t)0)
        : "r0", "memory");
    cursor->next = next;
    cursor->columns = (uint16_t)(at + first - (uint16_t)x);
    return sum;
}

/* The same for a whole row and the whole vector, where no column needs to be looked at: 14, 16 or 17 cycles a
 * term. */
static inline sum_t dot_nibble_row(const uint8_t *row, uint16_t count, const int8_t *x)
{
    sum_t sum = 0;
    uint16_t rounds = count / 8;
    uint8_t rest = count % 8, a, b, sign;
    __asm__ volatile(
        AVR_LOOP(AVR_TERM_NIBBLE(AVR_CARRY_X)) /* 14, 16 or 17 */
        : [sum] "+r"(sum), [rounds] "+w"(rounds), [rest] "+d"(rest), [a] "=&d"(a), [b] "=&d"(b),
          [sign] "=&r"(sign), "+x"(x), "+z"(row)
        : [zero] "r"((uint8_t)0)
        : "r0", "memory");
    return sum;
}

#endif
