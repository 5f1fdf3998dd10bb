/* The inner loops of dot.h and projection.h for AVR.
 *
 * The compiler needs 23 cycles a term where these need 12: it widens both factors to 16 bits and each product
 * to 32, and counts in 16 bits. Two facts do most of the work: a multiplication leaves the sign of its product
 * in the carry, so that one sbc extends it, and sums are as wide as the exporter has proven necessary
 * (SUM_BYTES). Cycles stand beside each line; lpm is 3, ld and mul 2, a taken branch 2. */
#ifndef AVR_DOT_H
#define AVR_DOT_H

#include <stdint.h>

#include "widths.h"

#if MODEL_W_SUM_BYTES == 2
#define AVR_EXTEND ""
#define AVR_ADD_HIGH ""
#elif MODEL_W_SUM_BYTES == 3
#define AVR_EXTEND   "    sbc   %[sign], %[sign]  \n" /* 1 */
#define AVR_ADD_HIGH "    adc   %C[sum], %[sign]  \n" /* 1 */
#else
#define AVR_EXTEND   "    sbc   %[sign], %[sign]  \n" /* 1 */
#define AVR_ADD_HIGH "    adc   %C[sum], %[sign]  \n" /* 1 */ \
                     "    adc   %D[sum], %[sign]  \n" /* 1 */
#endif

#if DISTANCE_BYTES == 3
#define AVR_CARRY "    adc   %C[sum], %[zero]  \n" /* 1 */
#else
#define AVR_CARRY "    adc   %C[sum], %[zero]  \n" /* 1 */ \
                  "    adc   %D[sum], %[zero]  \n" /* 1 */
#endif

/* `term` eight times a round (5 cycles more), then the rest one by one (4 cycles more). */
#define AVR_LOOP(term)                                          \
    "    sbiw  %[rounds], 1      \n"                            \
    "    brcc  1f                \n"                            \
    "    rjmp  2f                \n"                            \
    "1:  .rept 8                 \n" term                       \
    "    .endr                   \n"                            \
    "    sbiw  %[rounds], 1      \n" /* 2 */                    \
    "    brcs  2f                \n" /* 1 */                    \
    "    rjmp  1b                \n" /* 2; too far for brcc */  \
    "2:  subi  %[rest], 1        \n" /* 1 */                    \
    "    brcs  3f                \n" /* 1 */                    \
    term                                                        \
    "    rjmp  2b                \n" /* 2 */                    \
    "3:  clr   __zero_reg__      \n" /* mul left a product in r1:r0 */

/* sum + Σ w[i]·x[i]: 9, 11 or 12 cycles a term with sums of 2, 3 or 4 bytes */
static inline sum_t dot_i8(sum_t sum, const int8_t *w, const int8_t *x, uint16_t count)
{
    uint16_t rounds = count / 8;
    uint8_t rest = count % 8, a, b, sign;
    __asm__ volatile(
        AVR_LOOP("    ld    %[a], X+          \n" /* 2 */
                 "    lpm   %[b], Z+          \n" /* 3 */
                 "    muls  %[a], %[b]        \n" /* 2; carry is the sign */
                 AVR_EXTEND                       /* 1 */
                 "    add   %A[sum], r0       \n" /* 1 */
                 "    adc   %B[sum], r1       \n" /* 1 */
                 AVR_ADD_HIGH)                    /* 1 or 2 */
        : [sum] "+r"(sum), [rounds] "+w"(rounds), [rest] "+d"(rest), [a] "=&d"(a), [b] "=&d"(b),
          [sign] "=&r"(sign), "+x"(x), "+z"(w)
        :
        : "r0", "memory");
    return sum;
}

/* Σ w[i]·s[i], s without sign: 12 cycles a term */
static inline int32_t dot_u8(const int8_t *w, const uint8_t *s, uint16_t count)
{
    int32_t sum = 0;
    uint16_t rounds = count / 8;
    uint8_t rest = count % 8, a, b, sign;
    __asm__ volatile(
        AVR_LOOP("    ld    %[a], X+          \n"  /* 2 */
                 "    lpm   %[b], Z+          \n"  /* 3 */
                 "    mulsu %[b], %[a]        \n"  /* 2; carry is the sign */
                 "    sbc   %[sign], %[sign]  \n"  /* 1 */
                 "    add   %A[sum], r0       \n"  /* 1 */
                 "    adc   %B[sum], r1       \n"  /* 1 */
                 "    adc   %C[sum], %[sign]  \n"  /* 1 */
                 "    adc   %D[sum], %[sign]  \n") /* 1 */
        : [sum] "+r"(sum), [rounds] "+w"(rounds), [rest] "+d"(rest), [a] "=&a"(a), [b] "=&a"(b),
          [sign] "=&r"(sign), "+x"(s), "+z"(w)
        :
        : "r0", "memory");
    return sum;
}

/* Σ (z[i] - b[i])²: 13 cycles a term, 14 with distances of 4 bytes. Both are within ±127, so that the size of
 * the difference fits 8 bits though the difference does not. */
static inline distance_t distance_i8(const int8_t *b, const int8_t *z, uint16_t count)
{
    distance_t sum = 0;
    uint16_t rounds = count / 8;
    uint8_t rest = count % 8, difference, other;
    __asm__ volatile(
        AVR_LOOP("    ld    %[difference], X+            \n" /* 2 */
                 "    lpm   %[other], Z+                 \n" /* 3 */
                 "    sub   %[difference], %[other]      \n" /* 1 */
                 "    brge  .+2                          \n" /* 2, or 1 and then */
                 "    neg   %[difference]                \n" /* 1 */
                 "    mul   %[difference], %[difference] \n" /* 2 */
                 "    add   %A[sum], r0                  \n" /* 1 */
                 "    adc   %B[sum], r1                  \n" /* 1 */
                 AVR_CARRY)                                  /* 1 or 2 */
        : [sum] "+r"(sum), [rounds] "+w"(rounds), [rest] "+d"(rest), [difference] "=&r"(difference),
          [other] "=&r"(other), "+x"(z), "+z"(b)
        : [zero] "r"((uint8_t)0)
        : "r0", "memory");
    return sum;
}

/* Where the reading of a sparse row stands. */
typedef struct {
    const uint8_t *pair; /* the next one: gap, value */
    uint16_t columns;    /* how many lie before its gap */
} cursor_t;

/* sum + the terms of a sparse row whose columns are below first + count; x[0] is column `first`. The cursor
 * moves past them. 22, 24 or 25 cycles a term. X is one feature behind: the address of the last one taken. */
static inline sum_t dot_pairs(sum_t sum, cursor_t *cursor, const uint8_t *row_end, uint16_t first,
                              const int8_t *x, uint16_t count)
{
    const uint8_t *pair = cursor->pair;
    const int8_t *limit = x + count;
    uint16_t at = (uint16_t)((uint16_t)x + cursor->columns - first - 1);
    uint8_t a, b, sign;
    __asm__ volatile(
        "1:  cp    %A[pair], %A[end]   \n" /* 1 */
        "    cpc   %B[pair], %B[end]   \n" /* 1 */
        "    breq  3f                  \n" /* 1 */
        "    lpm   %[b], Z+            \n" /* 3; the gap */
        "    add   %A[at], %[b]        \n" /* 1 */
        "    adc   %B[at], %[zero]     \n" /* 1 */
        "    cp    %A[at], %A[limit]   \n" /* 1 */
        "    cpc   %B[at], %B[limit]   \n" /* 1 */
        "    brsh  2f                  \n" /* 1 */
        "    ld    %[a], X             \n" /* 2 */
        "    lpm   %[b], Z+            \n" /* 3; the value */
        "    muls  %[a], %[b]          \n" /* 2; carry is the sign */
        AVR_EXTEND                         /* 1 */
        "    add   %A[sum], r0         \n" /* 1 */
        "    adc   %B[sum], r1         \n" /* 1 */
        AVR_ADD_HIGH                       /* 1 or 2 */
        "    rjmp  1b                  \n" /* 2 */
        "2:  sub   %A[at], %[b]        \n" /* beyond this piece: put the gap back */
        "    sbc   %B[at], %[zero]     \n"
        "    sbiw  %[pair], 1          \n"
        "3:  clr   __zero_reg__        \n"
        : [sum] "+r"(sum), [at] "+x"(at), [pair] "+z"(pair), [a] "=&d"(a), [b] "=&d"(b),
          [sign] "=&r"(sign)
        : [end] "r"(row_end), [limit] "r"(limit), [zero] "r"((uint8_t)0)
        : "r0", "memory");
    cursor->pair = pair;
    cursor->columns = (uint16_t)(at + first + 1 - (uint16_t)x);
    return sum;
}

/* The same for a whole row and the whole vector, where no column needs to be looked at: 14, 16 or 17 cycles a
 * term. */
static inline sum_t dot_row(const uint8_t *pairs, uint16_t count, const int8_t *x)
{
    sum_t sum = 0;
    uint16_t rounds = count / 8;
    uint8_t rest = count % 8, a, b, sign;
    uint16_t at = (uint16_t)((uint16_t)x - 1); /* the first gap counts from the column before the first */
    __asm__ volatile(
        AVR_LOOP("    lpm   %[b], Z+          \n" /* 3; the gap */
                 "    add   %A[at], %[b]      \n" /* 1 */
                 "    adc   %B[at], %[zero]   \n" /* 1 */
                 "    ld    %[a], X           \n" /* 2 */
                 "    lpm   %[b], Z+          \n" /* 3; the value */
                 "    muls  %[a], %[b]        \n" /* 2; carry is the sign */
                 AVR_EXTEND                       /* 1 */
                 "    add   %A[sum], r0       \n" /* 1 */
                 "    adc   %B[sum], r1       \n" /* 1 */
                 AVR_ADD_HIGH)                    /* 1 or 2 */
        : [sum] "+r"(sum), [rounds] "+w"(rounds), [rest] "+d"(rest), [a] "=&d"(a), [b] "=&d"(b),
          [sign] "=&r"(sign), [at] "+x"(at), "+z"(pairs)
        : [zero] "r"((uint8_t)0)
        : "r0", "memory");
    return sum;
}

#endif
