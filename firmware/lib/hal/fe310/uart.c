/* The link's UART: UART0, on D0 and D1 and through the board's interface chip a USB serial port. */
#include "fe310.h"
#include "hal.h"
#include "polled.h"

enum { PIN_RX = 16, PIN_TX = 17, UART_INTERRUPT = 3 };
enum { ON = 1 << 0 };                    /* in TXCTRL and RXCTRL */
enum { RECEIVED = 1 << 1 };              /* in IE and IP: more bytes than RXCTRL's watermark, which is 0 */
enum { FULL_OR_EMPTY = (int)0x80000000 }; /* in TXDATA full, in RXDATA empty */

/* The crystal, past the PLL: 16 MHz. What runs after a reset is an oscillator too inexact for a UART. */
static void clock_start(void)
{
    enum { XTAL_ON = 1 << 30, XTAL_READY = (int)0x80000000 };
    enum { PLL_SELECT = 1 << 16, PLL_FROM_XTAL = 1 << 17, PLL_BYPASS = 1 << 18 };
    *reg(PRCI_HFXOSCCFG) = XTAL_ON;
    while (!(*reg(PRCI_HFXOSCCFG) & (uint32_t)XTAL_READY)) {
    }
    *reg(PRCI_PLLCFG) |= PLL_BYPASS | PLL_FROM_XTAL;
    *reg(PRCI_PLLCFG) |= PLL_SELECT;
}

void hal_start(void)
{
    clock_start();
    frame_release(&hal_rx);
    hal_window_start();

    uint32_t pins = 1u << PIN_RX | 1u << PIN_TX;
    *reg(GPIO_IOF_SEL) &= ~pins;
    *reg(GPIO_IOF_EN) |= pins;
    *reg(UART_DIV) = (F_CPU + HAL_BAUD / 2) / HAL_BAUD - 1;
    *reg(UART_TXCTRL) = ON;
    *reg(UART_RXCTRL) = ON;
    *reg(UART_IE) = RECEIVED;
    *reg(PLIC_PRIORITY + 4 * UART_INTERRUPT) = 1;
    *reg(PLIC_ENABLE) = 1u << UART_INTERRUPT;
    __asm__ volatile(".option push\n\t"
                     ".option arch, +zicsr\n\t"
                     "csrs mie, %0\n\t" /* external interrupts end a sleep, though they stay masked */
                     ".option pop" ::"r"(1u << 11));
}

bool uart_take(uint8_t *byte)
{
    uint32_t data = *reg(UART_RXDATA);
    *byte = (uint8_t)data;
    return !(data & (uint32_t)FULL_OR_EMPTY);
}

void uart_sleep(void)
{
    /* Claimed and completed: else the interrupt stays pending, and no sleep would last. */
    *reg(PLIC_CLAIM) = *reg(PLIC_CLAIM);
    if (!(*reg(UART_IP) & RECEIVED)) {
        __asm__ volatile("wfi" ::: "memory");
    }
}

void hal_put(uint8_t byte)
{
    while (*reg(UART_TXDATA) & (uint32_t)FULL_OR_EMPTY) {
    }
    *reg(UART_TXDATA) = byte;
}
