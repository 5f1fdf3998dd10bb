/* The inner loops of dot.h for AVR.
 *
 * The compiler needs 23 cycles a term where these need 12: it widens both factors to 16 bits and each
 * product to 32, and counts in 16 bits. Two facts do most of the work: a multiplication leaves the sign of
 * its product in the carry, so that one sbc extends it, and sums are as wide as the exporter has proven
 * necessary (SUM_BYTES). Cycles stand beside each line; lpm is 3, ld and mul 2, a taken branch 2. */
#ifndef AVR_DOT_H
#define AVR_DOT_H

#include <stdint.h>

#include "widths.h"

/* AVR_SUM_WORDS: the instructions of a term with such a sum. */
#if MODEL_W_SUM_BYTES == 2
#define AVR_SUM_WORDS "5"
#define AVR_EXTEND ""
#define AVR_ADD_HIGH ""
#elif MODEL_W_SUM_BYTES == 3
#define AVR_SUM_WORDS "7"
#define AVR_EXTEND   "    sbc   %[sign], %[sign]  \n" /* 1 */
#define AVR_ADD_HIGH "    adc   %C[sum], %[sign]  \n" /* 1 */
#else
#define AVR_SUM_WORDS "8"
#define AVR_EXTEND   "    sbc   %[sign], %[sign]  \n" /* 1 */
#define AVR_ADD_HIGH "    adc   %C[sum], %[sign]  \n" /* 1 */ \
                     "    adc   %D[sum], %[sign]  \n" /* 1 */
#endif

/* A feature times what is in another register, to a sum of any width: 4, 6 or 7 cycles. */
#define AVR_PRODUCT_TO(other, extend, add_high)                     \
    "    muls  %[a], " other "     \n" /* 2; carry is the sign */   \
    extend                             /* 1 */                      \
    "    add   %A[sum], r0         \n" /* 1 */                      \
    "    adc   %B[sum], r1         \n" /* 1 */                      \
    add_high                           /* 1 or 2 */
#define AVR_PRODUCT AVR_PRODUCT_TO("%[b]", AVR_EXTEND, AVR_ADD_HIGH)

/* The next weight of a dense row: 9, 11 or 12 cycles. */
#define AVR_DENSE_TO(extend, add_high)                              \
    "    ld    %[a], X+            \n" /* 2 */                      \
    "    lpm   %[b], Z+            \n" /* 3 */                      \
    AVR_PRODUCT_TO("%[b]", extend, add_high) /* 4, 6 or 7 */
#define AVR_TERM_DENSE AVR_DENSE_TO(AVR_EXTEND, AVR_ADD_HIGH)

#if DISTANCE_BYTES == 3
#define AVR_CARRY "    adc   %C[sum], %[zero]  \n" /* 1 */
#else
#define AVR_CARRY "    adc   %C[sum], %[zero]  \n" /* 1 */ \
                  "    adc   %D[sum], %[zero]  \n" /* 1 */
#endif

/* Repeated here and not by the assembler's .rept: the compiler reckons the length of assembly by its lines,
 * and would believe that its own branches reach across. */
#define AVR_4(term) term term term term
#define AVR_8(term) AVR_4(term) AVR_4(term)

/* `term` eight times a round (5 cycles more), then the rest one by one (4 cycles more). */
#define AVR_LOOP(term)                                          \
    "    sbiw  %[rounds], 1      \n"                            \
    "    brcc  1f                \n"                            \
    "    rjmp  2f                \n"                            \
    "1:                          \n" AVR_8(term)                \
    "    sbiw  %[rounds], 1      \n" /* 2 */                    \
    "    brcs  2f                \n" /* 1 */                    \
    "    rjmp  1b                \n" /* 2; too far for brcc */  \
    "2:  subi  %[rest], 1        \n" /* 1 */                    \
    "    brcs  3f                \n" /* 1 */                    \
    term                                                        \
    "    rjmp  2b                \n" /* 2 */                    \
    "3:  clr   __zero_reg__      \n" /* mul left a product in r1:r0 */

/* `term` a number of times that is known beforehand, with `words` instructions a term and 4 or 8 of them a
 * round: the first round is entered in its midst when the terms do not fill it, so that none of them is looked
 * at alone. 4 cycles a round, 5 where brne does not reach its begin, and 4 once. */
#define AVR_ROUNDS(size, words, term)                                                       \
    "    ldi   %A[rounds], lo8((%[count] + " #size " - 1) / " #size ") \n" /* 1 */          \
    "    ldi   %B[rounds], hi8((%[count] + " #size " - 1) / " #size ") \n" /* 1 */          \
    "    rjmp  1f + (" #size " - 1 - (%[count] + " #size " - 1) %% " #size ") * 2 * " words " \n" /* 2 */ \
    "1:                          \n" AVR_##size(term)                                       \
    "    sbiw  %[rounds], 1      \n" /* 2 */                                                \
    "    .if   " #size " * " words " < 64 \n"                                               \
    "    brne  1b                \n" /* 2 */                                                \
    "    .else                   \n"                                                        \
    "    breq  2f                \n" /* 1 */                                                \
    "    rjmp  1b                \n" /* 2 */                                                \
    "    .endif                  \n"                                                        \
    "2:  clr   __zero_reg__      \n" /* 1; mul left a product in r1:r0 */
#define AVR_FIXED(words, term) AVR_ROUNDS(8, words, term)

/* sum + Σ w[i]·x[i]: 9, 11 or 12 cycles a term with sums of 2, 3 or 4 bytes */
static inline sum_t dot_i8(sum_t sum, const int8_t *w, const int8_t *x, uint16_t count)
{
    uint16_t rounds = count / 8;
    uint8_t rest = count % 8, a, b, sign;
    __asm__ volatile(
        AVR_LOOP(AVR_TERM_DENSE)
        : [sum] "+r"(sum), [rounds] "+w"(rounds), [rest] "+d"(rest), [a] "=&d"(a), [b] "=&d"(b),
          [sign] "=&r"(sign), "+x"(x), "+z"(w)
        :
        : "r0", "memory");
    return sum;
}

/* The same from zero for the whole vector. */
static inline __attribute__((always_inline)) sum_t dot_whole(const int8_t *w, const int8_t *x)
{
    sum_t sum = 0;
    uint16_t rounds;
    uint8_t a, b, sign;
    __asm__ volatile(
        AVR_FIXED(AVR_SUM_WORDS, AVR_TERM_DENSE)
        : [sum] "+r"(sum), [rounds] "=&w"(rounds), [a] "=&d"(a), [b] "=&d"(b), [sign] "=&r"(sign), "+x"(x),
          "+z"(w)
        : [count] "n"(MODEL_FEATURES)
        : "r0", "memory");
    return sum;
}

/* Σ w[i]·s[i], s without sign, for a number of terms that is a constant: 11 cycles a term, 12 from 260 terms
 * on, where 24 bits end */
static inline __attribute__((always_inline)) int32_t dot_u8(const int8_t *w, const uint8_t *s, uint16_t count)
{
    uint16_t rounds;
    uint8_t a, b, sign;
    if (count < 260) {
        __int24 sum = 0;
        __asm__ volatile(
            AVR_FIXED("7",
                      "    ld    %[a], X+          \n"  /* 2 */
                      "    lpm   %[b], Z+          \n"  /* 3 */
                      "    mulsu %[b], %[a]        \n"  /* 2; carry is the sign */
                      "    sbc   %[sign], %[sign]  \n"  /* 1 */
                      "    add   %A[sum], r0       \n"  /* 1 */
                      "    adc   %B[sum], r1       \n"  /* 1 */
                      "    adc   %C[sum], %[sign]  \n") /* 1 */
            : [sum] "+r"(sum), [rounds] "=&w"(rounds), [a] "=&a"(a), [b] "=&a"(b), [sign] "=&r"(sign),
              "+x"(s), "+z"(w)
            : [count] "n"(count)
            : "r0", "memory");
        return sum;
    }
    int32_t sum = 0;
    __asm__ volatile(
        AVR_FIXED("8",
                  "    ld    %[a], X+          \n"  /* 2 */
                  "    lpm   %[b], Z+          \n"  /* 3 */
                  "    mulsu %[b], %[a]        \n"  /* 2; carry is the sign */
                  "    sbc   %[sign], %[sign]  \n"  /* 1 */
                  "    add   %A[sum], r0       \n"  /* 1 */
                  "    adc   %B[sum], r1       \n"  /* 1 */
                  "    adc   %C[sum], %[sign]  \n"  /* 1 */
                  "    adc   %D[sum], %[sign]  \n") /* 1 */
        : [sum] "+r"(sum), [rounds] "=&w"(rounds), [a] "=&a"(a), [b] "=&a"(b), [sign] "=&r"(sign), "+x"(s),
          "+z"(w)
        : [count] "n"(count)
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

#endif
