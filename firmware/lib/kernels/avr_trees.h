/* The walk of tree_nodes.h for AVR: the same ways, with the tallies in RAM.
 *
 * Registers: Z is at the node, Y at the features, X at a feature or a tally; r17:r16 is where the next tree's
 * start is read. Cycles stand beside each line; lpm is 3, ld and st 2, a taken branch 2. */
#ifndef AVR_TREES_H
#define AVR_TREES_H

#include <stdint.h>
#include <string.h>

/* X to the feature that r18 names. */
#if LISTED
#if MODEL_NUMBERS == MODEL_INT8
#define AVR_SCALE ""
#else
#define AVR_SCALE                                        \
    "    lsl   r26                   \n" /* 1 */         \
    "    rol   r27                   \n" /* 1 */
#endif
#define AVR_FIND_FEATURE                                 \
    "    movw  r24, r30              \n" /* 1 */         \
    "    mov   r30, r18              \n" /* 1 */         \
    "    clr   r31                   \n" /* 1 */         \
    "    lsl   r30                   \n" /* 1 */         \
    "    rol   r31                   \n" /* 1 */         \
    "    subi  r30, lo8(-(%[kept]))  \n" /* 1 */         \
    "    sbci  r31, hi8(-(%[kept]))  \n" /* 1 */         \
    "    lpm   r26, Z+               \n" /* 3 */         \
    "    lpm   r27, Z                \n" /* 3 */         \
    AVR_SCALE                            /* 2 if at all */ \
    "    add   r26, r28              \n" /* 1 */         \
    "    adc   r27, r29              \n" /* 1 */         \
    "    movw  r30, r24              \n" /* 1 */
#define AVR_KEPT , [kept] "i"(model_kept)
#else
#if MODEL_NUMBERS == MODEL_INT8
#define AVR_SCALE ""
#elif MODEL_SLOTS <= 128
#define AVR_SCALE "    lsl   r18                   \n"   /* 1 */
#else
#define AVR_SCALE                                        \
    "    add   r26, r18              \n" /* 1 */         \
    "    adc   r27, __zero_reg__     \n" /* 1 */
#endif
#define AVR_FIND_FEATURE                                 \
    "    movw  r26, r28              \n" /* 1 */         \
    AVR_SCALE                            /* 1 or 2 if at all */ \
    "    add   r26, r18              \n" /* 1 */         \
    "    adc   r27, __zero_reg__     \n" /* 1 */
#define AVR_KEPT
#endif

/* Carry and sign of threshold - feature; Z to the skip. */
#if MODEL_NUMBERS == MODEL_INT8
#define AVR_COMPARE                                      \
    "    ld    r20, X                \n" /* 2 */         \
    "    lpm   r22, Z+               \n" /* 3 */         \
    AVR_READ_SKIP                        /* 3 or 6 */    \
    "    cp    r22, r20              \n" /* 1 */
#else
#define AVR_COMPARE                                      \
    "    ld    r20, X+               \n" /* 2 */         \
    "    ld    r21, X                \n" /* 2 */         \
    "    lpm   r22, Z+               \n" /* 3 */         \
    "    lpm   r23, Z+               \n" /* 3 */         \
    AVR_READ_SKIP                        /* 3 or 6 */    \
    "    cp    r22, r20              \n" /* 1 */         \
    "    cpc   r23, r21              \n" /* 1 */
#endif

#if MODEL_SKIP_BYTES == 1
#define AVR_READ_SKIP "    lpm   r18, Z+               \n" /* 3 */
#define AVR_SKIP_HIGH "__zero_reg__"
#else
#define AVR_READ_SKIP                                    \
    "    lpm   r18, Z+               \n" /* 3 */         \
    "    lpm   r19, Z+               \n" /* 3 */
#define AVR_SKIP_HIGH "r19"
#endif

#ifdef MODEL_BOOSTED

/* One byte of a value to the tally that X is at. */
#define AVR_ADD_BYTE(add, byte)                          \
    "    ld    r20, X                \n" /* 2 */         \
    "    " add " r20, " byte "       \n" /* 1 */         \
    "    st    X+, r20               \n" /* 2 */

#if MODEL_LEAF_BYTES == 1
#define AVR_READ_VALUE                                   \
    "    lpm   r18, Z                \n" /* 3 */         \
    "    mov   r19, r18              \n" /* 1 */         \
    "    lsl   r19                   \n" /* 1 */         \
    "    sbc   r19, r19              \n" /* 1 */
#else
#define AVR_READ_VALUE                                   \
    "    lpm   r18, Z+               \n" /* 3 */         \
    "    lpm   r19, Z                \n" /* 3 */
#endif

#if MODEL_TALLY_BYTES == 2
#define AVR_ADD_HIGH_BYTES ""
#else
#define AVR_ADD_HIGH_BYTES                               \
    "    bst   r19, 7                \n" /* 1; the carry stays */ \
    "    ldi   r18, 0                \n" /* 1 */         \
    "    brtc  .+2                   \n" /* 2, or 1 and then */ \
    "    ldi   r18, 0xFF             \n" /* 1 */         \
    AVR_ADD_BYTE("adc ", "r18")          /* 5 */         \
    AVR_ADD_BYTE("adc ", "r18")          /* 5 */
#endif

/* The value to its score; the scores take turns, and r15:r14 is where the next is. */
#define AVR_TAKE_LEAF                                    \
    AVR_READ_VALUE                       /* 6 */         \
    "    movw  r26, r14              \n" /* 1 */         \
    AVR_ADD_BYTE("add ", "r18")          /* 5 */         \
    AVR_ADD_BYTE("adc ", "r19")          /* 5 */         \
    AVR_ADD_HIGH_BYTES                   /* 14 if at all */ \
    "    ldi   r18, hi8(%[tally_end])\n" /* 1 */         \
    "    cpi   r26, lo8(%[tally_end])\n" /* 1 */         \
    "    cpc   r27, r18              \n" /* 1 */         \
    "    brne  4f                    \n" /* 2, or 1 and then */ \
    "    ldi   r26, lo8(%[tally])    \n" /* 1 */         \
    "    ldi   r27, hi8(%[tally])    \n" /* 1 */         \
    "4:  movw  r14, r26              \n" /* 1 */

#else

/* A vote: 255 - r18 is the class. */
#define AVR_TAKE_LEAF                                    \
    "    com   r18                   \n" /* 1 */         \
    "    movw  r26, r14              \n" /* 1 */         \
    "    add   r26, r18              \n" /* 1 */         \
    "    adc   r27, __zero_reg__     \n" /* 1 */         \
    "    ld    r20, X                \n" /* 2 */         \
    "    inc   r20                   \n" /* 1 */         \
    "    st    X, r20                \n" /* 2 */

#endif

/* All trees. A node of int8 takes 19 cycles to its low side and 22 to its high one, of int16 26 and 29 (one
 * more from 129 features on); a skip of two bytes 3 more, a feature by the list 13 more. */
static inline void walk_trees(const feature_t *x)
{
    memset(tally, 0, sizeof tally);
    __asm__ volatile("    push  r28                   \n" /* 2 */
                     "    push  r29                   \n" /* 2 */
                     "    movw  r28, r26              \n" /* 1 */
                     "    ldi   r16, lo8(%[starts])   \n" /* 1 */
                     "    ldi   r17, hi8(%[starts])   \n" /* 1 */
                     "    ldi   r26, lo8(%[tally])    \n" /* 1 */
                     "    ldi   r27, hi8(%[tally])    \n" /* 1 */
                     "    movw  r14, r26              \n" /* 1 */
                     "1:  movw  r30, r16              \n" /* 1; a tree: where it begins */
                     "    lpm   r18, Z+               \n" /* 3 */
                     "    lpm   r19, Z+               \n" /* 3 */
                     "    movw  r16, r30              \n" /* 1 */
                     "    movw  r30, r18              \n" /* 1 */
                     "    subi  r30, lo8(-(%[nodes])) \n" /* 1 */
                     "    sbci  r31, hi8(-(%[nodes])) \n" /* 1 */
                     "2:  lpm   r18, Z+               \n" /* 3; a node */
                     "    cpi   r18, %[first_leaf]    \n" /* 1 */
                     "    brsh  3f                    \n" /* 1, or 2 */
                     AVR_FIND_FEATURE                     /* 3 to 18 */
                     AVR_COMPARE                          /* 9 to 18 */
                     "    brge  2b                    \n" /* 2 to the low side, or 1 and then */
                     "    add   r30, r18              \n" /* 1 */
                     "    adc   r31, " AVR_SKIP_HIGH "\n" /* 1 */
                     "    rjmp  2b                    \n" /* 2 */
                     "3:                              \n"
                     AVR_TAKE_LEAF                        /* 9, or 24 and more */
                     "    ldi   r18, hi8(%[starts_end])\n" /* 1 */
                     "    cpi   r16, lo8(%[starts_end])\n" /* 1 */
                     "    cpc   r17, r18              \n" /* 1 */
                     "    brne  1b                    \n" /* 2 */
                     "    pop   r29                   \n" /* 2 */
                     "    pop   r28                   \n" /* 2 */
                     : "+x"(x)
                     : [starts] "i"(model_starts), [starts_end] "i"(model_starts + MODEL_TREES),
                       [nodes] "i"(model_nodes), [tally] "i"(tally), [tally_end] "i"(tally + MODEL_TALLIES),
                       [first_leaf] "M"(FIRST_LEAF)AVR_KEPT
                     : "r14", "r15", "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25",
                       "r30", "r31", "memory");
}

#endif
