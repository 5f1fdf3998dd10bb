/* A kernel that computes nothing for a chosen time: 65,536 cycles, one overflow of the timer, and about a
 * hundred more, less the value of its one feature. With it a window can be made to end at any cycle around
 * the overflow. */
#include "kernel.h"

static uint8_t skipped;

void kernel_begin(void)
{
    skipped = 0;
}

void kernel_fold(uint16_t first, const feature_t *x, uint16_t count)
{
    (void)first;
    (void)count;
    skipped = (uint8_t)x[0];
}

uint16_t kernel_finish(score_t *scores)
{
    scores[0] = 0;
    __builtin_avr_delay_cycles(65536 - 200);
    __asm__ volatile("ldi r30, lo8(pm(1f))      \n\t"
                     "ldi r31, hi8(pm(1f))      \n\t"
                     "add r30, %[skipped]       \n\t"
                     "adc r31, __zero_reg__     \n\t"
                     "ijmp                      \n\t" /* into the sled, past so many of its instructions */
                     "1:                        \n\t"
                     ".rept 255                 \n\t"
                     "nop                       \n\t"
                     ".endr                     \n\t"
                     :
                     : [skipped] "r"(skipped)
                     : "r30", "r31");
    return 0;
}
