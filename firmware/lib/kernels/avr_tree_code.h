/* The caller of trees that are straight-line code: model_code is a routine.
 *
 * Its registers: Y and Z are at bytes CODE_Y and CODE_Z of the vector, tallies lie in FIRST_TALLY and those
 * that follow, r24 to r27 (and, beside sums, r22) are its own. The array is data to the compiler, which is
 * told of everything that the routine changes, or finds it as it was. Cycles stand beside each line. */
#ifndef AVR_TREE_CODE_H
#define AVR_TREE_CODE_H

#include <stdint.h>

#if !WHOLE_VECTORS
#error "trees as code take whole vectors only"
#endif

/* `what` for each register from the first tally to `last`. */
#define AVR_TALLIES(what, last)                                 \
    "    .set  at_tally, %[first]       \n"                     \
    "    .rept " last " + 1 - %[first]  \n"                     \
    what                                                        \
    "    .set  at_tally, at_tally + 1   \n"                     \
    "    .endr                          \n"

/* r18 and those that follow need not be saved. */
#if FIRST_TALLY < 18
#define AVR_SAVE_TALLIES AVR_TALLIES("    push  at_tally                 \n" /* 2 */, "17")
#define AVR_RESTORE_TALLIES                                     \
    "    .set  at_tally, 17             \n"                     \
    "    .rept 18 - %[first]            \n"                     \
    "    pop   at_tally                 \n" /* 2 */             \
    "    .set  at_tally, at_tally - 1   \n"                     \
    "    .endr                          \n"
#else
#define AVR_SAVE_TALLIES ""
#define AVR_RESTORE_TALLIES ""
#endif

static inline void walk_trees(const feature_t *x)
{
    __asm__ volatile(
        "    push  r28                      \n" /* 2 */
        "    push  r29                      \n" /* 2 */
        AVR_SAVE_TALLIES
        "    movw  r28, r26                 \n" /* 1 */
        "    movw  r30, r26                 \n" /* 1 */
        "    subi  r28, lo8(-(%[y]))        \n" /* 1 */
        "    sbci  r29, hi8(-(%[y]))        \n" /* 1 */
        "    subi  r30, lo8(-(%[z]))        \n" /* 1 */
        "    sbci  r31, hi8(-(%[z]))        \n" /* 1 */
        AVR_TALLIES("    clr   at_tally                 \n" /* 1 */, "%[last]")
        "    call  %[code]                  \n" /* 4, and its ret 4 */
        "    ldi   r26, lo8(%[tally])       \n" /* 1 */
        "    ldi   r27, hi8(%[tally])       \n" /* 1 */
        AVR_TALLIES("    st    X+, at_tally             \n" /* 2 */, "%[last]")
        AVR_RESTORE_TALLIES
        "    pop   r29                      \n" /* 2 */
        "    pop   r28                      \n" /* 2 */
        : "+x"(x)
        : [code] "i"(model_code), [tally] "i"(tally), [y] "n"(MODEL_CODE_Y), [z] "n"(MODEL_CODE_Z),
          [first] "n"(FIRST_TALLY), [last] "n"(FIRST_TALLY + sizeof tally - 1)
        : "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r30", "r31", "memory");
}

#endif
