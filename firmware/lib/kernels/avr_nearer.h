/* nearer.h for AVR: a prototype is left when, after eight dimensions more, it is no nearer than one before.
 *
 * Up to 129 dimensions (and from 259 on, with 32 bits) a sum begins with minus the least distance, so that its
 * sign tells, in one cycle: distances are below half of what the registers hold. Between, 24 bits have no room
 * for a sign, and the sum is compared. Cycles stand beside each line; lpm is 3, ld and mul 2, a taken branch
 * 2. */
#ifndef AVR_NEARER_H
#define AVR_NEARER_H

#include <stdint.h>

#include "avr_dot.h"

#if NEAREST_BYTES == 3
#define AVR_SQUARE_WORDS "9"
#define AVR_HIGH_SQUARE                                             \
    "    adc   %C[sum], %[zero]             \n" /* 1 */
#define AVR_BEGIN_HIGH                                              \
    "    mov   %C[sum], %C[from]            \n" /* 1 */
#define AVR_LESS_HIGH                                               \
    "    sbc   %C[from], %C[sum]            \n" /* 1 */
#else
#define AVR_SQUARE_WORDS "10"
#define AVR_HIGH_SQUARE                                             \
    "    adc   %C[sum], %[zero]             \n" /* 1 */             \
    "    adc   %D[sum], %[zero]             \n" /* 1; its sign is the sum's */
#define AVR_BEGIN_HIGH                                              \
    "    movw  %C[sum], %C[from]            \n" /* 1 */
#define AVR_LESS_HIGH                                               \
    "    sbc   %C[from], %C[sum]            \n" /* 1 */             \
    "    sbc   %D[from], %D[sum]            \n" /* 1 */
#endif

#if NEAREST_BYTES == 3 && MODEL_DIMENSIONS > 129

/* `from` is the least distance. */
#define AVR_BEGIN_SUM                                               \
    "    clr   %A[sum]                      \n" /* 1 */             \
    "    clr   %B[sum]                      \n" /* 1 */             \
    "    clr   %C[sum]                      \n" /* 1 */
#define AVR_LEAVE                                                   \
    "    cp    %A[sum], %A[from]            \n" /* 1 */             \
    "    cpc   %B[sum], %B[from]            \n" /* 1 */             \
    "    cpc   %C[sum], %C[from]            \n" /* 1 */             \
    "    brsh  3f                           \n" /* 1, or 2 */
#define AVR_TAKE                                                    \
    "    movw  %A[from], %A[sum]            \n" /* 1 */             \
    "    mov   %C[from], %C[sum]            \n" /* 1 */
#define AVR_FIRST ((nearest_t)-1)
#define AVR_LEAST(from) (from)

#else

/* `from` is minus the least distance, and a sum the distance plus `from`. */
#define AVR_BEGIN_SUM                                               \
    "    movw  %A[sum], %A[from]            \n" /* 1 */             \
    AVR_BEGIN_HIGH                              /* 1 */
#define AVR_LEAVE                                                   \
    "    brpl  3f                           \n" /* 1, or 2 */
#define AVR_TAKE                                                    \
    "    sub   %A[from], %A[sum]            \n" /* 1 */             \
    "    sbc   %B[from], %B[sum]            \n" /* 1 */             \
    AVR_LESS_HIGH                               /* 1 or 2 */
#define AVR_FIRST ((nearest_t)1 << (8 * NEAREST_BYTES - 1))
#define AVR_LEAST(from) (-(from))

#endif

#if MODEL_DIMENSIONS <= 2040
typedef uint8_t rounds_t;
#define AVR_BEGIN_ROUNDS                                            \
    "    ldi   %[rounds], (%[dimensions] + 7) / 8 \n" /* 1 */
#define AVR_NEXT_ROUND                                              \
    "    dec   %[rounds]                    \n" /* 1 */
#else
typedef uint16_t rounds_t;
#define AVR_BEGIN_ROUNDS                                            \
    "    ldi   %A[rounds], lo8((%[dimensions] + 7) / 8) \n" /* 1 */ \
    "    ldi   %B[rounds], hi8((%[dimensions] + 7) / 8) \n" /* 1 */
#define AVR_NEXT_ROUND                                              \
    "    subi  %A[rounds], 1                \n" /* 1 */             \
    "    sbci  %B[rounds], 0                \n" /* 1; zero only if both are */
#endif

/* Both are within 8 bits, so that the size of their difference is, though the difference is not. */
#define AVR_ADD_SQUARED                                             \
    "    ld    %[difference], X+            \n" /* 2 */             \
    "    lpm   %[other], Z+                 \n" /* 3 */             \
    "    sub   %[difference], %[other]      \n" /* 1 */             \
    "    brge  .+2                          \n" /* 2, or 1 and then */ \
    "    neg   %[difference]                \n" /* 1 */             \
    "    mul   %[difference], %[difference] \n" /* 2 */             \
    "    add   %A[sum], r0                  \n" /* 1 */             \
    "    adc   %B[sum], r1                  \n" /* 1 */             \
    AVR_HIGH_SQUARE                             /* 1 or 2 */

/* 13 cycles a term, 14 with distances of 4 bytes; 5 a round of eight, 8 where sums are compared; 17 a
 * prototype. The first round is entered in its midst when the dimensions do not fill it. Not inlined: it needs
 * nearly all registers. */
static __attribute__((noinline, unused)) nearest_t least_distance(const int8_t *b, uint16_t prototypes,
                                                                  const int8_t *x)
{
    nearest_t from = AVR_FIRST, sum;
    rounds_t rounds;
    uint16_t next;
    uint8_t difference, other;
    const int8_t *at;
    __asm__ volatile(
        "0:  movw  %A[at], %A[x]                \n" /* 1; a prototype */
        "    movw  %A[next], %A[b]              \n" /* 1 */
        "    subi  %A[next], lo8(-(%[dimensions])) \n" /* 1 */
        "    sbci  %B[next], hi8(-(%[dimensions])) \n" /* 1 */
        AVR_BEGIN_SUM                               /* 2 or 3 */
        AVR_BEGIN_ROUNDS                            /* 1 or 2 */
        "    rjmp  1f + (7 - (%[dimensions] + 7) %% 8) * 2 * " AVR_SQUARE_WORDS " \n" /* 2 */
        "1:                                     \n"
        AVR_8(AVR_ADD_SQUARED)
        AVR_LEAVE                                   /* 1 or 4 */
        AVR_NEXT_ROUND                              /* 1 or 2 */
        "    breq  2f                           \n" /* 1 */
        "    rjmp  1b                           \n" /* 2; too far for brne */
        "2:                                     \n"
        AVR_TAKE                                    /* 2 to 4 */
        "3:  movw  %A[b], %A[next]              \n" /* 1 */
        "    sbiw  %[prototypes], 1             \n" /* 2 */
        "    breq  4f                           \n" /* 1 */
        "    rjmp  0b                           \n" /* 2 */
        "4:  clr   __zero_reg__                 \n" /* 1; mul left a product in r1:r0 */
        : [from] "+r"(from), [sum] "=&r"(sum), [rounds] "=&d"(rounds), [next] "=&d"(next),
          [difference] "=&r"(difference), [other] "=&r"(other), [prototypes] "+w"(prototypes), [b] "+z"(b),
          [at] "=&x"(at)
        : [dimensions] "n"(MODEL_DIMENSIONS), [zero] "r"((uint8_t)0), [x] "r"(x)
        : "r0", "memory");
    return AVR_LEAST(from);
}

#endif
