/* The projection by straight-line code for AVR: model_w_code is a routine, and this is its caller.
 *
 * Its registers: Y is at the features, r20:r19:r18 or r19:r18 is the sum of a row, r21, r22 and r23 are its own, Z is
 * where a row ends by icall. The array is data to the compiler, which is told of everything that the routine
 * changes. Cycles stand beside each line; a weight is 9 or 7, and where ldd does not reach, Y moves on in 2. */
#ifndef AVR_CODE_H
#define AVR_CODE_H

#include <stdint.h>

#include "widths.h"

/* The code's sum has CODE_BYTES, and what is stored may need more. */
#if MODEL_W_CODE_BYTES == 2
#define AVR_CODE_SIGN                                                \
    "    lsl   r19                   \n" /* 1 */                     \
    "    sbc   r20, r20              \n" /* 1 */
#define AVR_CODE_TOP ""
#else
#define AVR_CODE_SIGN                                                \
    "    lsl   r20                   \n" /* 1 */                     \
    "    sbc   r20, r20              \n" /* 1 */
#define AVR_CODE_TOP "    st    X+, r20               \n" /* 2 */
#endif
#define AVR_STORE_SIGN "    st    X+, r20               \n" /* 2 */

#if MODEL_W_SUM_BYTES == MODEL_W_CODE_BYTES
#define AVR_STORE_ROW_HIGH AVR_CODE_TOP
#elif MODEL_W_SUM_BYTES == MODEL_W_CODE_BYTES + 1
#define AVR_STORE_ROW_HIGH AVR_CODE_TOP AVR_CODE_SIGN AVR_STORE_SIGN
#else
#define AVR_STORE_ROW_HIGH AVR_CODE_TOP AVR_CODE_SIGN AVR_STORE_SIGN AVR_STORE_SIGN
#endif

/* 17 cycles a row with sums of 3 bytes. */
static inline void run_code(const int8_t *x)
{
    __asm__ volatile("    push  r28                   \n" /* 2 */
                     "    push  r29                   \n" /* 2 */
                     "    movw  r14, r26              \n" /* 1 */
                     "    movw  r28, r26              \n" /* 1 */
                     "    ldi   r26, lo8(%[out])      \n" /* 1 */
                     "    ldi   r27, hi8(%[out])      \n" /* 1 */
                     "    ldi   r30, pm_lo8(1f)       \n" /* 1 */
                     "    ldi   r31, pm_hi8(1f)       \n" /* 1 */
                     "    clr   r18                   \n" /* 1 */
                     "    clr   r19                   \n" /* 1 */
                     "    clr   r20                   \n" /* 1 */
                     "    call  %[code]               \n" /* 4, and its ret 4 */
                     "    rjmp  2f                    \n" /* 2 */
                     "1:  st    X+, r18               \n" /* 2; after 3 for the icall */
                     "    st    X+, r19               \n" /* 2 */
                     AVR_STORE_ROW_HIGH                   /* none to 6 */
                     "    clr   r18                   \n" /* 1 */
                     "    clr   r19                   \n" /* 1 */
                     "    clr   r20                   \n" /* 1 */
                     "    movw  r28, r14              \n" /* 1 */
                     "    ret                         \n" /* 4 */
                     "2:  pop   r29                   \n" /* 2 */
                     "    pop   r28                   \n" /* 2 */
                     "    clr   __zero_reg__          \n" /* 1; mul left a product in r1:r0 */
                     : "+x"(x)
                     : [out] "i"(projection), [code] "i"(model_w_code)
                     : "r14", "r15", "r18", "r19", "r20", "r21", "r22", "r23", "r30", "r31", "r0", "memory");
}

#endif
