/* The compute window: trigger pin and cycle counter, opened and closed one store apart.
 *
 * TIMER0 counts the 16 MHz clock that the CPU runs on, 32 bits wide: a window of 268 seconds. The nRF51 has no
 * SysTick and no DWT. */
#include "hal.h"
#include "memory.h"
#include "nrf51.h"

enum { BITS_32 = 3, NO_PRESCALER = 0 };

void hal_window_start(void)
{
    *reg(GPIO_OUTCLR) = 1u << HAL_TRIGGER_BIT;
    *reg(GPIO_PIN_CNF + 4 * HAL_TRIGGER_BIT) = PIN_OUTPUT;
    *reg(TIMER0_BITMODE) = BITS_32;
    *reg(TIMER0_PRESCALER) = NO_PRESCALER;
}

void hal_window_open(void)
{
    *reg(TIMER0_TASKS_CLEAR) = 1;
    *reg(TIMER0_TASKS_START) = 1;
    *reg(GPIO_OUTSET) = 1u << HAL_TRIGGER_BIT;
}

uint32_t hal_window_close(void)
{
    *reg(TIMER0_TASKS_CAPTURE0) = 1;
    *reg(GPIO_OUTCLR) = 1u << HAL_TRIGGER_BIT;
    *reg(TIMER0_TASKS_STOP) = 1; /* a running timer keeps its clock on while the CPU sleeps */
    return *reg(TIMER0_CC0);
}
