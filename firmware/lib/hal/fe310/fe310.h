/* Registers of the SiFive FE310-G002, named as in its manual, version 1.5. */
#ifndef FE310_H
#define FE310_H

#include "memory.h"

enum {
    PRCI_HFXOSCCFG = 0x10008004,
    PRCI_PLLCFG = 0x10008008,

    GPIO_OUTPUT_EN = 0x10012008,
    GPIO_OUTPUT_VAL = 0x1001200c,
    GPIO_IOF_EN = 0x10012038,
    GPIO_IOF_SEL = 0x1001203c,

    UART_TXDATA = 0x10013000,
    UART_RXDATA = 0x10013004,
    UART_TXCTRL = 0x10013008,
    UART_RXCTRL = 0x1001300c,
    UART_IE = 0x10013010,
    UART_IP = 0x10013014,
    UART_DIV = 0x10013018,

    PLIC_PRIORITY = 0x0c000000, /* one word an interrupt */
    PLIC_ENABLE = 0x0c002000,   /* one bit an interrupt */
    PLIC_CLAIM = 0x0c200004,
};

/* The trigger pin becomes an output, low. Part of hal_start. */
void hal_window_start(void);

#endif
