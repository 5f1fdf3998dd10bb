/* The projection by weights of one magnitude (MODEL_W_SIGNS8): model_w_signs holds that magnitude, then of each
 * row two lists of columns, plus and minus, each a count and so many gaps. Included by projection.h. */
#ifndef PROJECTION_SIGNS_H
#define PROJECTION_SIGNS_H

#include <stdint.h>
#include <string.h>

#include "flash.h"
#include "kernel.h"
#include "model_data.h"
#include "widths.h"

#ifdef __AVR__

#if !WHOLE_VECTORS
#error "lists of signs take whole vectors only"
#endif

#include "avr_dot.h"

#define SIGNS_TERM                                     \
    "    lpm   %[gap], Z+         \n" /* 3 */          \
    "    add   r26, %[gap]        \n" /* 1 */          \
    "    adc   r27, __zero_reg__  \n" /* 1 */          \
    "    ld    %[gap], X          \n" /* 2 */          \
    "    subi  %[gap], 0x80       \n" /* 1; x + 128 has no sign to be extended */ \
    "    add   %A[sum], %[gap]    \n" /* 1 */          \
    "    adc   %B[sum], __zero_reg__ \n" /* 1 */

/* The sum of a list's features: 10 cycles each, 3 for each four and for each that is left alone. A row has at
 * most 255, so that 16 bits are enough. */
static inline int16_t list_sum(const uint8_t **list, const int8_t *x)
{
    const uint8_t *next = *list;
    const uint8_t count = flash_u8(next++);
    const int8_t *before = x - 1; /* the first gap counts from the column before the first */
    uint16_t sum = 0;
    uint8_t alone = count % 4, fours = count / 4, gap;
    __asm__ volatile("    tst   %[alone]           \n" /* 1 */
                     "    breq  2f                 \n" /* 1, or 2 */
                     "1:                           \n"
                     SIGNS_TERM                        /* 10 */
                     "    dec   %[alone]           \n" /* 1 */
                     "    brne  1b                 \n" /* 2 */
                     "2:  tst   %[fours]           \n" /* 1 */
                     "    breq  4f                 \n" /* 1, or 2 */
                     "3:                           \n"
                     AVR_4(SIGNS_TERM)                 /* 40 */
                     "    dec   %[fours]           \n" /* 1 */
                     "    brne  3b                 \n" /* 2 */
                     "4:                           \n"
                     : [sum] "+r"(sum), [alone] "+r"(alone), [fours] "+r"(fours), [gap] "=&d"(gap),
                       "+x"(before), "+z"(next)
                     :
                     : "memory");
    *list = next;
    return (int16_t)(sum - (uint16_t)(count << 7));
}

static void projection_begin(void)
{
}

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    (void)first;
    (void)count;
    const uint8_t *list = model_w_signs + 1;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        const int16_t plus = list_sum(&list, x);
        const int16_t both = (int16_t)(plus - list_sum(&list, x));
        projection[i] = (sum_t)((int32_t)both * (int16_t)MODEL_W_LEVEL);
    }
}

#else

/* The sum of those features of a list that are in the piece. */
static inline int32_t list_sum(const uint8_t **list, uint16_t first, const int8_t *x, uint16_t count)
{
    int32_t sum = 0;
    uint32_t columns = 0; /* up to and with the one that a gap leads to */
    for (uint8_t left = flash_u8((*list)++); left != 0; left--) {
        columns += flash_u8((*list)++);
        if (columns > first && columns <= (uint32_t)first + count) {
            sum += x[columns - 1 - first];
        }
    }
    return sum;
}

static void projection_begin(void)
{
    memset(projection, 0, sizeof projection);
}

static void projection_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    const uint8_t *list = model_w_signs + 1;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        const int32_t plus = list_sum(&list, first, x, count);
        projection[i] += (plus - list_sum(&list, first, x, count)) * (int32_t)MODEL_W_LEVEL;
    }
}

#endif

#endif
