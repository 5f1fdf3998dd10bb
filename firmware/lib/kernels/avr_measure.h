/* ProtoNN's distances for AVR. Included by avr_prototypes.h after its list, z and the state of the measuring,
 * which are named where they are used: their addresses are constants. Cycles stand beside each line; lpm is 3,
 * ld, st, push, pop and mul 2, a taken branch 2. */
#ifndef AVR_MEASURE_H
#define AVR_MEASURE_H

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

#define AVR_STORE_DISTANCE                    \
    "    st    X+, r20            \n" /* 2 */ \
    "    st    X+, r21            \n" /* 2 */ \
    "    st    X+, r22            \n" /* 2 */

/* Where all are listed, so is the sum that stopped a prototype: it is no less than the bound. */
#if LIST_ALL
#define AVR_STOPPED "    rjmp  3f                 \n" /* 2 */
#define AVR_LIST_ANY AVR_STORE_DISTANCE               /* 6 */
#define AVR_LIST_NEAR ""
#define AVR_UNTIL_FULL "4:                           \n"
#else
#define AVR_STOPPED "    rjmp  5f                 \n" /* 2 */
#define AVR_LIST_ANY ""
#define AVR_LIST_NEAR                                                         \
    AVR_STORE_NUMBER                  /* 2 or 4 */                            \
    AVR_STORE_DISTANCE                /* 6 */
#define AVR_UNTIL_FULL                                                        \
    "4:  ldi   r23, hi8(%[full])  \n" /* 1 */                                 \
    "    cpi   r26, lo8(%[full])  \n" /* 1 */                                 \
    "    cpc   r27, r23           \n" /* 1 */                                 \
    "    brne  5f                 \n" /* 2 */                                 \
    AVR_NEXT_NUMBER                                                           \
    "    rjmp  6f                 \n"
#endif

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
    AVR_STOPPED                       /* 2 */                                 \
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
    AVR_STOPPED                       /* 2 */                                 \
    "6:  movw  r26, r14           \n" /* 1 */

#endif

/* Measure on until all prototypes are or the list is full: list those below the bound, and lower it with each
 * that is nearer than all before. Beside its terms a prototype costs 17 cycles, 26 where z comes from RAM, and
 * 20 more when it is listed. */
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
                     AVR_LIST_ANY                      /* 6 if at all */
                     AVR_COMPARE_BOUND                 /* 3 */
                     "    brsh  5f                 \n" /* 2, or 1 and these */
                     AVR_LIST_NEAR                     /* 8 or 10 if at all */
                     "    subi  r20, lo8(-%[limit]) \n" /* 1 */
                     "    sbci  r21, hi8(-%[limit]) \n" /* 1 */
                     "    sbci  r22, hlo8(-%[limit]) \n" /* 1 */
                     AVR_COMPARE_BOUND                 /* 3 */
                     "    brsh  4f                 \n" /* 2, or 1 and then */
                     "    movw  r28, r20           \n" /* 1 */
                     "    mov   r25, r22           \n" /* 1 */
                     AVR_UNTIL_FULL                    /* 5 if at all */
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

#endif
