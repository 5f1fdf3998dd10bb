/* What the loops over sparse rows for AVR share: their terms, and how sums of every width are kept. Y is at
 * the sum of a row, X at a feature, Z at the pairs; r15 is zero. Cycles stand beside each line. */
#ifndef AVR_TERMS_H
#define AVR_TERMS_H

#include "avr_dot.h"

#if MODEL_W_SUM_BYTES == 2
#define AVR_CLEAR_HIGH ""
#define AVR_LOAD_HIGH ""
#define AVR_STORE_HIGH ""
#elif MODEL_W_SUM_BYTES == 3
#define AVR_CLEAR_HIGH "    clr   %C[sum]             \n" /* 1 */
#define AVR_LOAD_HIGH  "    ldd   %C[sum], Y+2        \n" /* 2 */
#define AVR_STORE_HIGH "    st    Y+, %C[sum]         \n" /* 2 */
#else
#define AVR_CLEAR_HIGH                                    \
    "    clr   %C[sum]             \n" /* 1 */            \
    "    clr   %D[sum]             \n" /* 1 */
#define AVR_LOAD_HIGH                                     \
    "    ldd   %C[sum], Y+2        \n" /* 2 */            \
    "    ldd   %D[sum], Y+3        \n" /* 2 */
#define AVR_STORE_HIGH                                    \
    "    st    Y+, %C[sum]         \n" /* 2 */            \
    "    st    Y+, %D[sum]         \n" /* 2 */
#endif

/* X to the next feature: 5 cycles. */
#define AVR_GAP                                                     \
    "    lpm   r22, Z+             \n" /* 3 */                      \
    "    add   r26, r22            \n" /* 1 */                      \
    "    adc   r27, r15            \n" /* 1 */

/* The feature times its value: 9, 11 or 12 cycles. */
#define AVR_VALUE                                                   \
    "    ld    r23, X              \n" /* 2 */                      \
    "    lpm   r22, Z+             \n" /* 3 */                      \
    "    muls  r22, r23            \n" /* 2; carry is the sign */   \
    AVR_EXTEND                         /* 1 */                      \
    "    add   %A[sum], r0         \n" /* 1 */                      \
    "    adc   %B[sum], r1         \n" /* 1 */                      \
    AVR_ADD_HIGH                       /* 1 or 2 */

#endif
