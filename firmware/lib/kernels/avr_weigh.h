/* ProtoNN's similarities and scores for AVR. Included by avr_prototypes.h after its list, which is named where
 * it is used: its address is a constant. Cycles stand beside each line; lpm is 3, ld, st, push, pop and mul 2,
 * a taken branch 2. */
#ifndef AVR_WEIGH_H
#define AVR_WEIGH_H

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
 * similarity take its place. 17 cycles for a far one and 41 for another, beside the comparison (1 to 3) and
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
                     "    ldi   r16, 0xff          \n" /* 1; counted where numbers are not listed */
                     "    rjmp  3f                 \n" /* 2 */
                     "1:                           \n"
                     AVR_LOAD_NUMBER                   /* 1, 2 or 4 */
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

#endif
