/* What every Cortex-M has: the interrupt controller's enable and pending bits, and sleep. */
#ifndef CORTEXM_H
#define CORTEXM_H

#include <stdint.h>

#include "memory.h"

enum { NVIC_ENABLE = 0xe000e100, NVIC_UNPEND = 0xe000e280 };

static inline void interrupt_enable(uint32_t number)
{
    *reg(NVIC_ENABLE + number / 32 * 4) = 1u << number % 32;
}

/* A pending interrupt ends every sleep at once; its cause, if it is still there, makes it pending again. */
static inline void interrupt_forget(uint32_t number)
{
    *reg(NVIC_UNPEND + number / 32 * 4) = 1u << number % 32;
    __asm__ volatile("dsb" ::: "memory");
}

/* Until an enabled interrupt is pending, though it is masked. */
static inline void sleep(void)
{
    __asm__ volatile("dsb\n\twfi" ::: "memory");
}

#endif
