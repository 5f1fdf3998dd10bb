/* The rounding and gating of nodes.h for AVR: the same integers as its C. Cycles stand beside each line. */
#ifndef AVR_NODES_H
#define AVR_NODES_H

#include <stdint.h>

#include "avr_shifts.h"
#include "nibbles.h"

/* Holds a rounded sum and an offset of 16 bits, and a node's sum. */
#if MODEL_W_SUM_BYTES == 4 || NODE_SUM_BYTES == 4
typedef int32_t wide_t;
#else
typedef __int24 wide_t;
#endif

/* The exporter has proven that adding the half fits into the sums. */
static inline __attribute__((always_inline)) wide_t rounded_sum(sum_t sum, uint8_t shift)
{
    sum += (sum_t)1 << (shift - 1);
#if MODEL_W_SUM_BYTES == 2
    return shift_i16(sum, shift);
#elif MODEL_W_SUM_BYTES == 3
    return shift_i24(sum, shift);
#else
    return shift_i32(sum, shift);
#endif
}

static inline __attribute__((always_inline)) node_t rounded_node(node_t sum, uint8_t shift)
{
    if (shift == 0) {
        return sum;
    }
    sum += (node_t)1 << (shift - 1);
#if NODE_SUM_BYTES == 3
    return shift_i24(sum, shift);
#else
    return shift_i32(sum, shift);
#endif
}

/* 127 is 1. */
static inline int8_t clipped(wide_t value)
{
    return (int8_t)(value > 127 ? 127 : value < -127 ? -127 : value);
}

/* The product has 23 bits and a sign: 11 cycles instead of the 33 of one of 32 bits. */
static inline __int24 gated(int16_t predicted, int8_t gate)
{
    __int24 product;
    uint8_t sign;
    __asm__("    muls  %B[predicted], %[gate] \n" /* 2 */
            "    mov   %B[product], r0        \n" /* 1 */
            "    mov   %C[product], r1        \n" /* 1 */
            "    mulsu %[gate], %A[predicted] \n" /* 2; carry is the sign */
            "    sbc   %[sign], %[sign]       \n" /* 1 */
            "    mov   %A[product], r0        \n" /* 1 */
            "    add   %B[product], r1        \n" /* 1 */
            "    adc   %C[product], %[sign]   \n" /* 1 */
            "    clr   __zero_reg__           \n" /* 1; mul left a product in r1:r0 */
            : [product] "=&r"(product), [sign] "=&r"(sign)
            : [predicted] "a"(predicted), [gate] "a"(gate)
            : "r0");
    return product;
}

#endif
