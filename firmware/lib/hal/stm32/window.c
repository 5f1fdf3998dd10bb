/* The compute window: trigger pin and the core's cycle counter, 32 bits wide, one store apart. */
#include "hal.h"
#include "stm32.h"

enum {
    DEMCR = 0xe000edfc,
    TRACE_ON = 1 << 24,
    DWT_CTRL = 0xe0001000,
    COUNTER_ON = 1 << 0,
    DWT_CYCCNT = 0xe0001004,
};

static uint32_t opened;

void hal_window_start(void)
{
    *reg(DEMCR) |= TRACE_ON;
    *reg(DWT_CTRL) |= COUNTER_ON;
}

static inline void trigger(uint32_t address)
{
    *(volatile trigger_t *)address = 1 << HAL_TRIGGER_BIT;
}

void hal_window_open(void)
{
    opened = *reg(DWT_CYCCNT);
    trigger(TRIGGER_SET);
}

uint32_t hal_window_close(void)
{
    uint32_t closed = *reg(DWT_CYCCNT);
    trigger(TRIGGER_CLEAR);
    return closed - opened;
}
