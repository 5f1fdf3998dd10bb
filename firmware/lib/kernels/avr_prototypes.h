/* ProtoNN's distances and similarities for AVR: the same integers as the C in protonn.c.
 *
 * Whole stages rather than inner loops, because prototypes have few dimensions: what a compiler does between
 * two of them costs as much as three or four terms. A prototype that lies LIMIT or more beyond the nearest one
 * has no similarity left, so that its distance need not be known: summing stops once it exceeds the least
 * distance so far by LIMIT, and only the others are listed. Distances have 24 bits. Cycles stand beside each
 * line; lpm is 3, ld, st, push, pop and mul 2, a taken branch 2. */
#ifndef AVR_PROTOTYPES_H
#define AVR_PROTOTYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "arithmetic.h"

/* From here on nothing is left of a similarity. */
#define LIMIT ((distance_t)128 << MODEL_EXP_SHIFT)

/* A place in the list: the prototype's number, then its distance; once weighed, a number of two bytes and a
 * similarity. */
#if MODEL_PROTOTYPES <= 256
#define NUMBER_BYTES 1
#define AVR_STORE_NUMBER "    st    X+, r18            \n" /* 2 */
#define AVR_LOAD_NUMBER "    ld    r16, X+            \n"  /* 2 */
#define AVR_NEXT_NUMBER "    inc   r18                \n"  /* 1 */
#else
#define NUMBER_BYTES 2
#define AVR_STORE_NUMBER                      \
    "    st    X+, r18            \n" /* 2 */ \
    "    st    X+, r19            \n" /* 2 */
#define AVR_LOAD_NUMBER                       \
    "    ld    r16, X+            \n" /* 2 */ \
    "    ld    r17, X+            \n" /* 2 */
#define AVR_NEXT_NUMBER                       \
    "    subi  r18, 0xff          \n" /* 1 */ \
    "    sbci  r19, 0xff          \n" /* 1 */
#endif
#define PLACE_BYTES (NUMBER_BYTES + 3)

/* The list has a place for every prototype where RAM is no matter. Where it has not, it is weeded out when it
 * is full, and if that makes no room, all distances are measured again once the least one is known. */
#if WHOLE_VECTORS || MODEL_SCORES > 1
#define LIST_BYTES 384
#else
#define LIST_BYTES 92
#endif
#define PLACES (MODEL_PROTOTYPES * PLACE_BYTES <= LIST_BYTES ? MODEL_PROTOTYPES : LIST_BYTES / PLACE_BYTES)

/* The sums of the projection are not needed any more when prototypes are listed. */
static union {
    sum_t sums[MODEL_W_ROWS];
    uint8_t list[PLACES * PLACE_BYTES];
} work;

static int8_t z[MODEL_W_ROWS];

/* How far the prototypes have been measured. */
typedef struct {
    const int8_t *next;
    uint16_t number;
    uint8_t *end;     /* of the list */
    distance_t bound; /* LIMIT beyond the least distance so far */
} measuring_t;

/* r23 = z - b has come; its square to r1:r0. Both are within ±127, so that the size of the difference fits
 * 8 bits though the difference does not. */
#define AVR_SQUARE                                           \
    "    brge  .+2                \n" /* 2, or 1 and then */ \
    "    neg   r23                \n" /* 1 */                \
    "    mul   r23, r23           \n" /* 2 */

#define AVR_ADD_SQUARE                        \
    "    add   r20, r0            \n" /* 1 */ \
    "    adc   r21, r1            \n" /* 1 */ \
    "    adc   r22, r24           \n" /* 1 */

#define AVR_COMPARE_BOUND                     \
    "    cp    r20, r28           \n" /* 1 */ \
    "    cpc   r21, r29           \n" /* 1 */ \
    "    cpc   r22, r25           \n" /* 1 */

#if MODEL_W_ROWS <= 16

/* z lies in r2 and the registers that follow for all prototypes: 11 cycles a term. After five of eight terms
 * the sum is looked at. */
#define LOOK_AFTER (MODEL_W_ROWS < 8 ? MODEL_W_ROWS : (MODEL_W_ROWS * 5 + 7) / 8)
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
#define AVR_TERM                                                              \
    "    lpm   r23, Z+            \n" /* 3 */                                 \
    "    sub   r23, at_z          \n" /* 1 */                                 \
    AVR_SQUARE                        /* 4 */                                 \
    AVR_ADD_SQUARE                    /* 3 */                                 \
    "    .set  at_z, at_z + 1     \n"
#define AVR_SUM_SQUARES                                                       \
    "    lpm   r23, Z+            \n" /* 3 */                                 \
    "    sub   r23, r2            \n" /* 1 */                                 \
    AVR_SQUARE                        /* 4 */                                 \
    "    movw  r20, r0            \n" /* 1; the first needs no adding */      \
    "    clr   r22                \n" /* 1 */                                 \
    "    .set  at_z, 3            \n"                                         \
    "    .rept %[look] - 1        \n"                                         \
    AVR_TERM                          /* 11 */                                \
    "    .endr                    \n"                                         \
    "    .if   %[look] < %[dimensions] \n"                                    \
    AVR_COMPARE_BOUND                 /* 3 */                                 \
    "    brsh  2f                 \n" /* 1, or 2 and these */                 \
    "    .rept %[dimensions] - %[look] \n"                                    \
    AVR_TERM                          /* 11 */                                \
    "    .endr                    \n"                                         \
    "    rjmp  3f                 \n" /* 2 */                                 \
    "2:  subi  r30, lo8(%[look] - %[dimensions]) \n" /* 1 */                  \
    "    sbci  r31, hi8(%[look] - %[dimensions]) \n" /* 1 */                  \
    "    rjmp  5f                 \n" /* 2 */                                 \
    "    .endif                   \n"

#else

/* z comes from RAM: 13 cycles a term, 7 a round of six, after which the sum is looked at. The first round is
 * entered in its midst when the dimensions do not fill it. */
#define LOOK_AFTER 0
#define AVR_LOAD_Z ""
#define AVR_Z_CLOBBERS "r12", "r13", "r14", "r15", "r16", "r17",
#define AVR_SUM_SQUARES                                                       \
    "    movw  r14, r26           \n" /* 1 */                                 \
    "    movw  r12, r30           \n" /* 1 */                                 \
    "    ldi   r26, lo8(%[z])     \n" /* 1 */                                 \
    "    ldi   r27, hi8(%[z])     \n" /* 1 */                                 \
    "    ldi   r17, (%[dimensions] + 5) / 6 \n" /* 1 */                       \
    "    clr   r20                \n" /* 1 */                                 \
    "    clr   r21                \n" /* 1 */                                 \
    "    clr   r22                \n" /* 1 */                                 \
    "    rjmp  2f + (5 - (%[dimensions] + 5) %% 6) * 18 \n" /* 2 */           \
    "2:  .rept 6                  \n"                                         \
    "    ld    r23, X+            \n" /* 2 */                                 \
    "    lpm   r16, Z+            \n" /* 3 */                                 \
    "    sub   r23, r16           \n" /* 1 */                                 \
    AVR_SQUARE                        /* 4 */                                 \
    AVR_ADD_SQUARE                    /* 3 */                                 \
    "    .endr                    \n"                                         \
    "    dec   r17                \n" /* 1 */                                 \
    "    breq  6f                 \n" /* 1, at last 2 */                      \
    AVR_COMPARE_BOUND                 /* 3 */                                 \
    "    brlo  2b                 \n" /* 2, or 1 and these */                 \
    "    movw  r26, r14           \n" /* 1 */                                 \
    "    movw  r30, r12           \n" /* 1 */                                 \
    "    subi  r30, lo8(-(%[dimensions])) \n" /* 1 */                         \
    "    sbci  r31, hi8(-(%[dimensions])) \n" /* 1 */                         \
    "    rjmp  5f                 \n" /* 2 */                                 \
    "6:  movw  r26, r14           \n" /* 1 */

#endif

/* Measure on until all prototypes are or the list is full: list those below the bound, and lower it with each
 * that is nearer than all before. Beside its terms a prototype costs 14 cycles, 23 where z comes from RAM, and
 * 26 more when it is listed. */
static __attribute__((noinline)) void measure(measuring_t *state)
{
    register const int8_t *next __asm__("r30") = state->next;
    register uint8_t *end __asm__("r26") = state->end;
    register distance_t bound __asm__("r20") = state->bound;
    register uint16_t number __asm__("r18") = state->number;
    __asm__ volatile("    push  r28                \n" /* 2 */
                     "    push  r29                \n" /* 2 */
                     "    movw  r28, r20           \n" /* 1; the bound is r25:r29:r28 */
                     "    mov   r25, r22           \n" /* 1 */
                     "    movw  r0, r26            \n" /* 1 */
                     AVR_LOAD_Z                        /* 2 a dimension */
                     "    movw  r26, r0            \n" /* 1 */
                     "    clr   r24                \n" /* 1 */
                     "1:                           \n"
                     AVR_SUM_SQUARES                   /* 11 or 13 a dimension */
                     "3:                           \n"
                     AVR_COMPARE_BOUND                 /* 3 */
                     "    brsh  5f                 \n" /* 2, or 1 and these */
                     AVR_STORE_NUMBER                  /* 2 or 4 */
                     "    st    X+, r20            \n" /* 2 */
                     "    st    X+, r21            \n" /* 2 */
                     "    st    X+, r22            \n" /* 2 */
                     "    subi  r20, lo8(-%[limit]) \n" /* 1 */
                     "    sbci  r21, hi8(-%[limit]) \n" /* 1 */
                     "    sbci  r22, hlo8(-%[limit]) \n" /* 1 */
                     AVR_COMPARE_BOUND                 /* 3 */
                     "    brsh  4f                 \n" /* 2, or 1 and then */
                     "    movw  r28, r20           \n" /* 1 */
                     "    mov   r25, r22           \n" /* 1 */
                     "4:  ldi   r23, hi8(%[full])  \n" /* 1 */
                     "    cpi   r26, lo8(%[full])  \n" /* 1 */
                     "    cpc   r27, r23           \n" /* 1 */
                     "    brne  5f                 \n" /* 2 */
                     AVR_NEXT_NUMBER
                     "    rjmp  6f                 \n"
                     "5:                           \n"
                     AVR_NEXT_NUMBER                   /* 1 or 2 */
                     "    ldi   r23, hi8(%[last])  \n" /* 1 */
                     "    cpi   r30, lo8(%[last])  \n" /* 1 */
                     "    cpc   r31, r23           \n" /* 1 */
                     "    breq  6f                 \n" /* 1 */
                     "    rjmp  1b                 \n" /* 2 */
                     "6:  movw  r20, r28           \n" /* 1 */
                     "    mov   r22, r25           \n" /* 1 */
                     "    pop   r29                \n" /* 2 */
                     "    pop   r28                \n" /* 2 */
                     "    clr   __zero_reg__       \n" /* 1; mul left a product in r1:r0 */
                     : "+r"(next), "+r"(end), "+r"(bound), "+r"(number)
                     : [z] "i"(z), [last] "i"(model_b + sizeof model_b),
                       [full] "i"(work.list + sizeof work.list), [dimensions] "n"(MODEL_W_ROWS),
                       [look] "n"(LOOK_AFTER), [limit] "n"((uint32_t)LIMIT)
                     : AVR_Z_CLOBBERS "r23", "r24", "r25", "r0", "memory");
    state->next = next;
    state->end = end;
    state->bound = bound;
    state->number = number;
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

/* Compare with LIMIT; then divide by 2^EXP_SHIFT into r18, to the left where that is nearer. */
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

/* 255·2^(-(distance - least) / 2^EXP_SHIFT / 16) of everything in the list that is not far: number and
 * similarity take its place. 24 cycles for a far one and 46 for another, beside the comparison (1 to 3) and
 * the division (1 to 9). The shift by u / 16 is made of its three bits: AVR shifts one place at a time. Gives
 * the end of the shortened list. */
static __attribute__((noinline)) const uint8_t *weigh(const uint8_t *end, distance_t least)
{
    register distance_t from __asm__("r22") = least;
    register const uint8_t *to __asm__("r14") = end;
    register const uint8_t *weighed __asm__("r24");
    __asm__ volatile("    push  r28                \n" /* 2 */
                     "    push  r29                \n" /* 2 */
                     "    ldi   r26, lo8(%[list])  \n" /* 1 */
                     "    ldi   r27, hi8(%[list])  \n" /* 1 */
                     "    movw  r28, r26           \n" /* 1 */
                     "    clr   r17                \n" /* 1 */
                     "    rjmp  3f                 \n" /* 2 */
                     "1:                           \n"
                     AVR_LOAD_NUMBER                   /* 2 or 4 */
                     "    ld    r18, X+            \n" /* 2 */
                     "    ld    r19, X+            \n" /* 2 */
                     "    ld    r20, X+            \n" /* 2 */
                     "    sub   r18, r22           \n" /* 1 */
                     "    sbc   r19, r23           \n" /* 1 */
                     "    sbc   r20, r24           \n" /* 1 */
                     AVR_COMPARE_FAR                   /* 1 to 3 */
                     "    brsh  3f                 \n" /* 1, or 2 */
                     AVR_DIVIDE                        /* 1 to 9 */
                     "    mov   r21, r18           \n" /* 1 */
                     "    andi  r21, 15            \n" /* 1 */
                     "    ldi   r30, lo8(%[table]) \n" /* 1 */
                     "    ldi   r31, hi8(%[table]) \n" /* 1 */
                     "    add   r30, r21           \n" /* 1 */
                     "    adc   r31, __zero_reg__  \n" /* 1 */
                     "    lpm   r21, Z             \n" /* 3 */
                     "    sbrc  r18, 6             \n" /* a skip and what it skips are 2 */
                     "    swap  r21                \n"
                     "    sbrc  r18, 6             \n" /* 2 */
                     "    andi  r21, 15            \n"
                     "    sbrc  r18, 5             \n" /* 2 */
                     "    lsr   r21                \n"
                     "    sbrc  r18, 5             \n" /* 2 */
                     "    lsr   r21                \n"
                     "    sbrc  r18, 4             \n" /* 2 */
                     "    lsr   r21                \n"
                     "    st    Y+, r16            \n" /* 2 */
                     "    st    Y+, r17            \n" /* 2 */
                     "    st    Y+, r21            \n" /* 2 */
                     "3:  cp    r26, r14           \n" /* 1 */
                     "    cpc   r27, r15           \n" /* 1 */
                     "    brne  1b                 \n" /* 2 */
                     "    movw  r24, r28           \n" /* 1 */
                     "    pop   r29                \n" /* 2 */
                     "    pop   r28                \n" /* 2 */
                     : "=r"(weighed)
                     : "r"(from), "r"(to), [list] "i"(work.list), [table] "i"(model_exp),
                       [shift] "n"(MODEL_EXP_SHIFT % 8)
                     : "r16", "r17", "r18", "r19", "r20", "r21", "r26", "r27", "r30", "r31", "memory");
    return weighed;
}

/* Of 260 terms on, 24 bits are not enough for a score. */
#if MODEL_PROTOTYPES < 260
#define AVR_CLEAR_SCORE_HIGH ""
#define AVR_ADD_SCORE_HIGH ""
#define AVR_EXTEND_SCORE                      \
    "    mov   r21, r20           \n" /* 1 */ \
    "    lsl   r21                \n" /* 1 */ \
    "    sbc   r21, r21           \n" /* 1 */
#else
#define AVR_CLEAR_SCORE_HIGH "    clr   r21                \n" /* 1 */
#define AVR_ADD_SCORE_HIGH "    adc   r21, r16           \n"   /* 1 */
#define AVR_EXTEND_SCORE ""
#endif

/* scores[c] += Σ Z_cj·s_j over the weighed list, which is not empty: 21 cycles a term, 22 with 32 bits, and
 * 34 a score. */
static __attribute__((noinline)) void add_scores(int32_t *scores, const uint8_t *end)
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
                     "    ld    r22, Y             \n" /* 2 */
                     "    add   r18, r22           \n" /* 1 */
                     "    st    Y+, r18            \n" /* 2 */
                     "    ld    r22, Y             \n" /* 2 */
                     "    adc   r19, r22           \n" /* 1 */
                     "    st    Y+, r19            \n" /* 2 */
                     "    ld    r22, Y             \n" /* 2 */
                     "    adc   r20, r22           \n" /* 1 */
                     "    st    Y+, r20            \n" /* 2 */
                     "    ld    r22, Y             \n" /* 2 */
                     "    adc   r21, r22           \n" /* 1 */
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
                     : [z] "i"(model_z), [z_end] "i"(model_z + sizeof model_z), [list] "i"(work.list),
                       [row] "n"(MODEL_PROTOTYPES)
                     : "r14", "r15", "r16", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r0",
                       "memory");
}

static inline bool all_measured(const measuring_t *state)
{
    return state->next == model_b + sizeof model_b;
}

/* From the first prototype on, with an empty list. */
static inline void start(measuring_t *state)
{
    state->next = model_b;
    state->number = 0;
    state->end = work.list;
}

static inline void score_list(int32_t *scores, const measuring_t *state)
{
    const uint8_t *end = weigh(state->end, state->bound - LIMIT);
    if (end != work.list) {
        add_scores(scores, end);
    }
}

#if MODEL_PROTOTYPES * PLACE_BYTES > LIST_BYTES

/* Drop what has become far since it was listed. Seldom needed: it is to be small. */
static __attribute__((noinline, optimize("Os"))) void weed_out(measuring_t *state)
{
    uint8_t *to = work.list;
    for (const uint8_t *from = work.list; from != state->end; from += PLACE_BYTES) {
        distance_t distance;
        __builtin_memcpy(&distance, from + NUMBER_BYTES, sizeof distance);
        if (distance < state->bound) {
            __builtin_memmove(to, from, PLACE_BYTES);
            to += PLACE_BYTES;
        }
    }
    state->end = to;
}

/* Gives whether everything near is in the list; if not, the bound is final all the same. */
static inline bool list_near(measuring_t *state)
{
    bool all = true;
    for (;;) {
        measure(state);
        if (all_measured(state)) {
            return all;
        }
        weed_out(state);
        if (state->end == work.list + sizeof work.list) {
            all = false;
            state->end = work.list;
        }
    }
}

#else

static inline bool list_near(measuring_t *state)
{
    measure(state);
    return true;
}

#endif

static inline void score_prototypes(int32_t *scores)
{
    for (uint16_t c = 0; c < MODEL_SCORES; c++) {
        scores[c] = 0;
    }
    measuring_t state = {.bound = (distance_t)-1};
    start(&state);
    if (!list_near(&state)) {
        /* More are near than the list has places for: with the final bound, a list after the other. */
        start(&state);
        for (measure(&state); !all_measured(&state); measure(&state)) {
            score_list(scores, &state);
            state.end = work.list;
        }
    }
    score_list(scores, &state);
}

#endif
