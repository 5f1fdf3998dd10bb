/* Registers of the STM32F1 and STM32F4, named as in their reference manuals RM0041 and RM0090. The USARTs are
 * the same; clocks and pins are not. */
#ifndef STM32_H
#define STM32_H

#include "memory.h"

#if defined(STM32F1) /* STM32F100: the link is USART1 on PA9 and PA10 */
enum {
    RCC_APB2ENR = 0x40021018,
    GPIOA_CRL = 0x40010800, /* four bits a pin, the lower eight; CRH has the upper */
    GPIOA_CRH = 0x40010804,
    TRIGGER_SET = 0x40010810, /* GPIOA_BSRR */
    TRIGGER_CLEAR = 0x40010814, /* GPIOA_BRR */
    USART = 0x40013800,
    USART_INTERRUPT = 37,
};
typedef uint32_t trigger_t; /* GPIO registers take whole words only */
#elif defined(STM32F4) /* STM32F405: the link is USART6 on PC6 and PC7 */
enum {
    RCC_AHB1ENR = 0x40023830,
    RCC_APB2ENR = 0x40023844,
    GPIOA_MODER = 0x40020000, /* two bits a pin */
    GPIOC_MODER = 0x40020800,
    GPIOC_AFRL = 0x40020820,  /* four bits a pin, the lower eight */
    TRIGGER_SET = 0x40020018, /* GPIOA_BSRR, of which the lower half sets */
    TRIGGER_CLEAR = 0x4002001a, /* and the upper half clears */
    USART = 0x40011400,
    USART_INTERRUPT = 71,
};
typedef uint16_t trigger_t;
#else
#error "STM32F1 or STM32F4 must be defined"
#endif

enum {
    USART_SR = USART + 0x00,
    USART_DR = USART + 0x04,
    USART_BRR = USART + 0x08,
    USART_CR1 = USART + 0x0c,
};

/* Power and function of the three pins in use. Part of hal_start. */
void pins_start(void);

/* The cycle counter. Part of hal_start. */
void hal_window_start(void);

/* Some bits of a register, from bit `low` on. */
static inline void put_field(uint32_t address, unsigned low, unsigned width, uint32_t value)
{
    uint32_t mask = ((1u << width) - 1) << low;
    *reg(address) = (*reg(address) & ~mask) | value << low;
}

#endif
