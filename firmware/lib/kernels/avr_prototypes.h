/* ProtoNN's distances and similarities for AVR: the same integers as the C in protonn.c.
 *
 * Whole stages rather than inner loops, because prototypes have few dimensions: what a compiler does between
 * two of them costs as much as three or four terms. Distances have 24 bits. Included by protonn.c after its
 * arrays, which are named where they are used: their addresses are constants. Cycles stand beside each line;
 * lpm is 3, ld, st, push, pop and mul 2, a taken branch 2. */
#ifndef AVR_PROTOTYPES_H
#define AVR_PROTOTYPES_H

#include <stdint.h>

#include "arithmetic.h"

/* r23 = z - b has come; its square to r1:r0. Both are within ±127, so that the size of the difference fits
 * 8 bits though the difference does not. */
#define AVR_SQUARE                                           \
    "    brge  .+2                \n" /* 2, or 1 and then */ \
    "    neg   r23                \n" /* 1 */                \
    "    mul   r23, r23           \n" /* 2 */

#define AVR_ADD_SQUARE                      \
    "    add   r20, r0            \n" /* 1 */ \
    "    adc   r21, r1            \n" /* 1 */ \
    "    adc   r22, r24           \n" /* 1 */

#if MODEL_W_ROWS <= 18

/* z lies in r2 and the registers that follow for all prototypes: 11 cycles a term. */
#define AVR_LOAD_Z                                                            \
    "    ldi   r26, lo8(%[z])     \n" /* 1 */                                 \
    "    ldi   r27, hi8(%[z])     \n" /* 1 */                                 \
    "    .set  at_z, 2            \n"                                         \
    "    .rept %[dimensions]      \n"                                         \
    "    ld    at_z, X+           \n" /* 2 */                                 \
    "    .set  at_z, at_z + 1     \n"                                         \
    "    .endr                    \n"
#define AVR_Z_CLOBBERS                                                                                      \
    "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "r16", "r17",
#define AVR_SUM_SQUARES                                                       \
    "    lpm   r23, Z+            \n" /* 3 */                                 \
    "    sub   r23, r2            \n" /* 1 */                                 \
    AVR_SQUARE                        /* 4 */                                 \
    "    movw  r20, r0            \n" /* 1; the first needs no adding */      \
    "    clr   r22                \n" /* 1 */                                 \
    "    .set  at_z, 3            \n"                                         \
    "    .rept %[dimensions] - 1  \n"                                         \
    "    lpm   r23, Z+            \n" /* 3 */                                 \
    "    sub   r23, at_z          \n" /* 1 */                                 \
    AVR_SQUARE                        /* 4 */                                 \
    AVR_ADD_SQUARE                    /* 3 */                                 \
    "    .set  at_z, at_z + 1     \n"                                         \
    "    .endr                    \n"

#else

/* z comes from RAM: 13 cycles a term, 3 a round of six, which is as far as brne reaches. The first round is
 * entered in its midst when the dimensions do not fill it. */
#define AVR_LOAD_Z ""
#define AVR_Z_CLOBBERS "r16", "r17",
#define AVR_SUM_SQUARES                                                       \
    "    movw  r16, r26           \n" /* 1 */                                 \
    "    ldi   r26, lo8(%[z])     \n" /* 1 */                                 \
    "    ldi   r27, hi8(%[z])     \n" /* 1 */                                 \
    "    ldi   r19, (%[dimensions] + 5) / 6 \n" /* 1 */                       \
    "    clr   r20                \n" /* 1 */                                 \
    "    clr   r21                \n" /* 1 */                                 \
    "    clr   r22                \n" /* 1 */                                 \
    "    rjmp  2f + (5 - (%[dimensions] + 5) %% 6) * 18 \n" /* 2 */           \
    "2:  .rept 6                  \n"                                         \
    "    ld    r23, X+            \n" /* 2 */                                 \
    "    lpm   r18, Z+            \n" /* 3 */                                 \
    "    sub   r23, r18           \n" /* 1 */                                 \
    AVR_SQUARE                        /* 4 */                                 \
    AVR_ADD_SQUARE                    /* 3 */                                 \
    "    .endr                    \n"                                         \
    "    dec   r19                \n" /* 1 */                                 \
    "    brne  2b                 \n" /* 2 */                                 \
    "    movw  r26, r16           \n" /* 1 */

#endif

/* near.distance[j] = Σ_i (z_i - b_ji)², for all prototypes; gives the least of them. 17 cycles a prototype
 * beside its terms, 25 where z comes from RAM. */
static inline distance_t measure_distances(void)
{
    register distance_t least __asm__("r22");
    __asm__ volatile("    push  r28                \n" /* 2 */
                     "    push  r29                \n" /* 2 */
                     AVR_LOAD_Z                        /* 2 a dimension */
                     "    ldi   r26, lo8(%[out])   \n" /* 1 */
                     "    ldi   r27, hi8(%[out])   \n" /* 1 */
                     "    ldi   r30, lo8(%[b])     \n" /* 1 */
                     "    ldi   r31, hi8(%[b])     \n" /* 1 */
                     "    clr   r24                \n" /* 1 */
                     "    ldi   r25, 0xff          \n" /* 1; the least so far is r25:r29:r28 */
                     "    mov   r28, r25           \n" /* 1 */
                     "    mov   r29, r25           \n" /* 1 */
                     "1:                           \n"
                     AVR_SUM_SQUARES                   /* 11 or 13 a dimension */
                     "    st    X+, r20            \n" /* 2 */
                     "    st    X+, r21            \n" /* 2 */
                     "    st    X+, r22            \n" /* 2 */
                     "    cp    r20, r28           \n" /* 1 */
                     "    cpc   r21, r29           \n" /* 1 */
                     "    cpc   r22, r25           \n" /* 1 */
                     "    brsh  3f                 \n" /* 2, or 1 and then */
                     "    movw  r28, r20           \n" /* 1 */
                     "    mov   r25, r22           \n" /* 1 */
                     "3:  ldi   r23, hi8(%[end])   \n" /* 1 */
                     "    cpi   r26, lo8(%[end])   \n" /* 1 */
                     "    cpc   r27, r23           \n" /* 1 */
                     "    breq  4f                 \n" /* 1 */
                     "    rjmp  1b                 \n" /* 2 */
                     "4:  movw  r22, r28           \n" /* 1 */
                     "    mov   r24, r25           \n" /* 1 */
                     "    pop   r29                \n" /* 2 */
                     "    pop   r28                \n" /* 2 */
                     "    clr   __zero_reg__       \n" /* 1; mul left a product in r1:r0 */
                     : "=r"(least)
                     : [z] "i"(z), [b] "i"(model_b), [out] "i"(near.distance),
                       [end] "i"(near.distance + MODEL_PROTOTYPES), [dimensions] "n"(MODEL_W_ROWS)
                     : AVR_Z_CLOBBERS "r18", "r19", "r20", "r21", "r25", "r26", "r27", "r30", "r31", "r0",
                       "memory");
    return least;
}

/* The whole bytes of EXP_SHIFT are dropped by looking at the next two only. */
#if MODEL_EXP_SHIFT < 8
#define AVR_LOW "r18"
#define AVR_HIGH "r19"
#define AVR_ABOVE "    cpc   r20, __zero_reg__  \n" /* 1 */
#else
#define AVR_LOW "r19"
#define AVR_HIGH "r20"
#define AVR_ABOVE ""
#endif

/* Compare with 128 << EXP_SHIFT, from which on nothing is left of a similarity; then divide by 2^EXP_SHIFT
 * into r18, to the left where that is nearer. */
#if MODEL_EXP_SHIFT == 16
#define AVR_COMPARE_FAR "    cpi   r20, 0x80          \n" /* 1 */
#define AVR_DIVIDE "    mov   r18, r20           \n"      /* 1 */
#elif MODEL_EXP_SHIFT % 8 == 0
#define AVR_COMPARE_FAR                                               \
    "    cpi   " AVR_LOW ", 0x80  \n"               /* 1 */           \
    "    cpc   " AVR_HIGH ", __zero_reg__ \n"       /* 1 */           \
    AVR_ABOVE                                       /* 1 if at all */
#define AVR_DIVIDE "    mov   r18, " AVR_LOW "   \n" /* 1 */
#else
#define AVR_COMPARE_FAR                                               \
    "    cpi   " AVR_HIGH ", 1 << (%[shift] - 1) \n" /* 1 */          \
    AVR_ABOVE                                        /* 1 if at all */
#if MODEL_EXP_SHIFT % 8 <= 4
#define AVR_DIVIDE                                                    \
    "    .rept %[shift]           \n"                                 \
    "    lsr   " AVR_HIGH "       \n" /* 1 */                         \
    "    ror   " AVR_LOW "        \n" /* 1 */                         \
    "    .endr                    \n"                                 \
    "    mov   r18, " AVR_LOW "   \n" /* 1 */
#else
#define AVR_DIVIDE                                                    \
    "    .rept 8 - %[shift]       \n"                                 \
    "    lsl   " AVR_LOW "        \n" /* 1 */                         \
    "    rol   " AVR_HIGH "       \n" /* 1 */                         \
    "    .endr                    \n"                                 \
    "    mov   r18, " AVR_HIGH "  \n" /* 1 */
#endif
#endif

/* 255·2^(-(distance_j - least) / 2^EXP_SHIFT / 16) of one prototype after the other into r21: 12 cycles for
 * a far one, which goes to 2 at once, and 30 for a near one, beside the comparison (1 to 3), the division (1
 * to 9) and what is done with the similarity. The shift by u / 16 is made of its three bits: AVR shifts one
 * place at a time. */
#define AVR_BEGIN_WEIGHING                                                      \
    "    push  r28                \n" /* 2 */                                   \
    "    push  r29                \n" /* 2 */                                   \
    "    ldi   r26, lo8(%[in])    \n" /* 1 */                                   \
    "    ldi   r27, hi8(%[in])    \n" /* 1 */                                   \
    "    movw  r28, r26           \n" /* 1; results take the distances' place */ \
    "    ldi   r25, hi8(%[end])   \n" /* 1 */
#define AVR_WEIGH                                                               \
    "1:  ld    r18, X+            \n" /* 2 */                                   \
    "    ld    r19, X+            \n" /* 2 */                                   \
    "    ld    r20, X+            \n" /* 2 */                                   \
    "    sub   r18, r22           \n" /* 1 */                                   \
    "    sbc   r19, r23           \n" /* 1 */                                   \
    "    sbc   r20, r24           \n" /* 1 */                                   \
    "    clr   r21                \n" /* 1 */                                   \
    AVR_COMPARE_FAR                   /* 1 to 3 */                              \
    "    brsh  2f                 \n" /* 1, or 2 */                             \
    AVR_DIVIDE                        /* 1 to 9 */                              \
    "    mov   r21, r18           \n" /* 1 */                                   \
    "    andi  r21, 15            \n" /* 1 */                                   \
    "    ldi   r30, lo8(%[table]) \n" /* 1 */                                   \
    "    ldi   r31, hi8(%[table]) \n" /* 1 */                                   \
    "    add   r30, r21           \n" /* 1 */                                   \
    "    adc   r31, __zero_reg__  \n" /* 1 */                                   \
    "    lpm   r21, Z             \n" /* 3 */                                   \
    "    sbrc  r18, 6             \n" /* a skip and what it skips are 2 */      \
    "    swap  r21                \n"                                           \
    "    sbrc  r18, 6             \n" /* 2 */                                   \
    "    andi  r21, 15            \n"                                           \
    "    sbrc  r18, 5             \n" /* 2 */                                   \
    "    lsr   r21                \n"                                           \
    "    sbrc  r18, 5             \n" /* 2 */                                   \
    "    lsr   r21                \n"                                           \
    "    sbrc  r18, 4             \n" /* 2 */                                   \
    "    lsr   r21                \n"
#define AVR_NEXT_WEIGHING                                                       \
    "    cpi   r26, lo8(%[end])   \n" /* 1 */                                   \
    "    cpc   r27, r25           \n" /* 1 */                                   \
    "    brne  1b                 \n" /* 2 */
#define AVR_WEIGHING_INPUTS                                                                             \
    "r"(from), [in] "i"(near.distance), [end] "i"(near.distance + MODEL_PROTOTYPES),                    \
        [table] "i"(model_exp), [shift] "n"(MODEL_EXP_SHIFT % 8)
#define AVR_WEIGHING_CLOBBERS "r18", "r19", "r20", "r21", "r26", "r27", "r30", "r31", "memory"

#ifdef MODEL_NEAR_LIST

/* Of 260 terms on, 24 bits are not enough for a score. */
#if MODEL_PROTOTYPES < 260
#define AVR_CLEAR_SCORE_HIGH ""
#define AVR_ADD_SCORE_HIGH ""
#define AVR_EXTEND_SCORE                    \
    "    mov   r21, r20           \n" /* 1 */ \
    "    lsl   r21                \n" /* 1 */ \
    "    sbc   r21, r21           \n" /* 1 */
#else
#define AVR_CLEAR_SCORE_HIGH "    clr   r21                \n" /* 1 */
#define AVR_ADD_SCORE_HIGH "    adc   r21, r16           \n"   /* 1 */
#define AVR_EXTEND_SCORE ""
#endif

/* Only the near ones are listed, number and similarity: 12 cycles more for such a one, 6 for a far one. */
static inline uint8_t *weigh_distances(distance_t least)
{
    register distance_t from __asm__("r22") = least;
    register uint8_t *end __asm__("r24");
    __asm__ volatile(AVR_BEGIN_WEIGHING
                     "    clr   r16                \n" /* 1; the number of the prototype */
                     "    clr   r17                \n" /* 1 */
                     AVR_WEIGH
                     "    st    Y+, r16            \n" /* 2 */
                     "    st    Y+, r17            \n" /* 2 */
                     "    st    Y+, r21            \n" /* 2 */
                     "2:  subi  r16, 0xff          \n" /* 1 */
                     "    sbci  r17, 0xff          \n" /* 1 */
                     AVR_NEXT_WEIGHING
                     "    movw  r24, r28           \n" /* 1 */
                     "    pop   r29                \n" /* 2 */
                     "    pop   r28                \n" /* 2 */
                     : "=r"(end)
                     : AVR_WEIGHING_INPUTS
                     : "r16", "r17", AVR_WEIGHING_CLOBBERS);
    return end;
}

/* scores[c] = Σ Z_cj·s_j over the near prototypes: 21 cycles a term, 22 with 32 bits, and 22 a score. The
 * nearest one is always in the list. */
static inline void add_scores(int32_t *scores, const uint8_t *end)
{
    __asm__ volatile("    push  r28                \n" /* 2 */
                     "    push  r29                \n" /* 2 */
                     "    movw  r28, r30           \n" /* 1 */
                     "    movw  r14, r26           \n" /* 1 */
                     "    ldi   r24, lo8(%[z])     \n" /* 1 */
                     "    ldi   r25, hi8(%[z])     \n" /* 1 */
                     "1:  ldi   r26, lo8(%[list])  \n" /* 1 */
                     "    ldi   r27, hi8(%[list])  \n" /* 1 */
                     "    clr   r18                \n" /* 1 */
                     "    clr   r19                \n" /* 1 */
                     "    clr   r20                \n" /* 1 */
                     AVR_CLEAR_SCORE_HIGH              /* 1 if at all */
                     "2:  ld    r30, X+            \n" /* 2 */
                     "    ld    r31, X+            \n" /* 2 */
                     "    add   r30, r24           \n" /* 1 */
                     "    adc   r31, r25           \n" /* 1 */
                     "    lpm   r22, Z             \n" /* 3 */
                     "    ld    r23, X+            \n" /* 2 */
                     "    mulsu r22, r23           \n" /* 2; carry is the sign */
                     "    sbc   r16, r16           \n" /* 1 */
                     "    add   r18, r0            \n" /* 1 */
                     "    adc   r19, r1            \n" /* 1 */
                     "    adc   r20, r16           \n" /* 1 */
                     AVR_ADD_SCORE_HIGH                /* 1 if at all */
                     "    cp    r26, r14           \n" /* 1 */
                     "    cpc   r27, r15           \n" /* 1 */
                     "    brne  2b                 \n" /* 2 */
                     AVR_EXTEND_SCORE                  /* 3 if at all */
                     "    st    Y+, r18            \n" /* 2 */
                     "    st    Y+, r19            \n" /* 2 */
                     "    st    Y+, r20            \n" /* 2 */
                     "    st    Y+, r21            \n" /* 2 */
                     "    subi  r24, lo8(-%[row])  \n" /* 1 */
                     "    sbci  r25, hi8(-%[row])  \n" /* 1 */
                     "    ldi   r22, hi8(%[z_end]) \n" /* 1 */
                     "    cpi   r24, lo8(%[z_end]) \n" /* 1 */
                     "    cpc   r25, r22           \n" /* 1 */
                     "    brne  1b                 \n" /* 2 */
                     "    pop   r29                \n" /* 2 */
                     "    pop   r28                \n" /* 2 */
                     "    clr   __zero_reg__       \n" /* 1; mul left a product in r1:r0 */
                     : "+z"(scores), "+x"(end)
                     : [z] "i"(model_z), [z_end] "i"(model_z + sizeof model_z), [list] "i"(near.distance),
                       [row] "n"(MODEL_PROTOTYPES)
                     : "r14", "r15", "r16", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r0",
                       "memory");
}

static inline void score_prototypes(int32_t *scores, distance_t least)
{
    add_scores(scores, weigh_distances(least));
}

#else

/* All similarities, far ones as zeros: 6 cycles more. */
static inline void weigh_distances(distance_t least)
{
    register distance_t from __asm__("r22") = least;
    __asm__ volatile(AVR_BEGIN_WEIGHING
                     AVR_WEIGH
                     "2:  st    Y+, r21            \n" /* 2 */
                     AVR_NEXT_WEIGHING
                     "    pop   r29                \n" /* 2 */
                     "    pop   r28                \n" /* 2 */
                     :
                     : AVR_WEIGHING_INPUTS
                     : "r25", AVR_WEIGHING_CLOBBERS);
}

static inline void score_prototypes(int32_t *scores, distance_t least)
{
    weigh_distances(least);
    add_scores(scores);
}

#endif

#endif
