/* Which pins, and what they are switched to. After a reset the chips run on their internal oscillator, 8 MHz on
 * the F1 and 16 MHz on the F4, at which flash needs no wait states. It stays so: with a PLL and wait states the
 * cycles of a loop would depend on where it lies. */
#include "stm32.h"

#if defined(STM32F1)

void pins_start(void)
{
    enum { GPIOA_ON = 1 << 2, USART1_ON = 1 << 14 };
    enum { OUTPUT = 0x3, INPUT = 0x4, FUNCTION = 0xb }; /* push-pull, 50 MHz */
    *reg(RCC_APB2ENR) |= GPIOA_ON | USART1_ON;
    put_field(GPIOA_CRL, 4 * HAL_TRIGGER_BIT, 4, OUTPUT);
    put_field(GPIOA_CRH, 4 * (9 - 8), 4, FUNCTION);
    put_field(GPIOA_CRH, 4 * (10 - 8), 4, INPUT);
}

#else

void pins_start(void)
{
    enum { GPIOA_ON = 1 << 0, GPIOC_ON = 1 << 2, USART6_ON = 1 << 5 };
    enum { OUTPUT = 1, FUNCTION = 2, USART6_FUNCTION = 8 };
    *reg(RCC_AHB1ENR) |= GPIOA_ON | GPIOC_ON;
    *reg(RCC_APB2ENR) |= USART6_ON;
    put_field(GPIOA_MODER, 2 * HAL_TRIGGER_BIT, 2, OUTPUT);
    for (unsigned pin = 6; pin <= 7; pin++) {
        put_field(GPIOC_AFRL, 4 * pin, 4, USART6_FUNCTION);
        put_field(GPIOC_MODER, 2 * pin, 2, FUNCTION);
    }
}

#endif
