/* The compute window: trigger pin and the core's cycle counter, one store apart. */
#include "fe310.h"
#include "hal.h"

static uint32_t opened;

/* The lower half of mcycle: a window of 268 seconds at 16 MHz. */
static inline uint32_t cycles(void)
{
    uint32_t now;
    __asm__ volatile(".option push\n\t"
                     ".option arch, +zicsr\n\t"
                     "csrr %0, mcycle\n\t"
                     ".option pop"
                     : "=r"(now)::"memory");
    return now;
}

void hal_window_start(void)
{
    *reg(GPIO_OUTPUT_EN) |= 1u << HAL_TRIGGER_BIT; /* low, as every pin is after a reset */
}

/* No other pin is an output, so the register is written and not read: one store makes the edge. */
void hal_window_open(void)
{
    opened = cycles();
    *reg(GPIO_OUTPUT_VAL) = 1u << HAL_TRIGGER_BIT;
}

uint32_t hal_window_close(void)
{
    uint32_t closed = cycles();
    *reg(GPIO_OUTPUT_VAL) = 0;
    return closed - opened;
}
