/* value >> shift for AVR, `shift` being a constant.
 *
 * AVR shifts one place at a time, and its compiler makes a loop of it, at 3 cycles more a place than the
 * shift itself. Here the places are written out, whole bytes are dropped first, and six or seven places to
 * the right are two or one to the left and a byte less. */
#ifndef AVR_SHIFTS_H
#define AVR_SHIFTS_H

#include <stdint.h>

static inline __attribute__((always_inline)) int16_t shift_i16(int16_t value, uint8_t shift)
{
    if (shift >= 8) {
        return (int8_t)(value >> 8) >> (shift - 8);
    }
    __asm__(".rept %[places]     \n"
            "    asr   %B[value] \n" /* 1 */
            "    ror   %A[value] \n" /* 1 */
            ".endr               \n"
            : [value] "+r"(value)
            : [places] "n"(shift));
    return value;
}

static inline __attribute__((always_inline)) __int24 shift_i24(__int24 value, uint8_t shift)
{
    if (shift >= 8) {
        return shift_i16((int16_t)(value >> 8), (uint8_t)(shift - 8));
    }
    if (shift >= 6) {
        uint8_t top;
        __asm__("    mov   %[top], %C[value]  \n" /* 1 */
                "    lsl   %[top]             \n" /* 1 */
                "    sbc   %[top], %[top]     \n" /* 1 */
                ".rept 8 - %[places]          \n"
                "    lsl   %A[value]          \n" /* 1 */
                "    rol   %B[value]          \n" /* 1 */
                "    rol   %C[value]          \n" /* 1 */
                "    rol   %[top]             \n" /* 1 */
                ".endr                        \n"
                "    mov   %A[value], %B[value] \n" /* 1 */
                "    mov   %B[value], %C[value] \n" /* 1 */
                "    mov   %C[value], %[top]  \n" /* 1 */
                : [value] "+r"(value), [top] "=&r"(top)
                : [places] "n"(shift));
        return value;
    }
    __asm__(".rept %[places]     \n"
            "    asr   %C[value] \n" /* 1 */
            "    ror   %B[value] \n" /* 1 */
            "    ror   %A[value] \n" /* 1 */
            ".endr               \n"
            : [value] "+r"(value)
            : [places] "n"(shift));
    return value;
}

static inline __attribute__((always_inline)) int32_t shift_i32(int32_t value, uint8_t shift)
{
    if (shift >= 8) {
        return shift_i24((__int24)(value >> 8), (uint8_t)(shift - 8));
    }
    return value >> shift;
}

#endif
