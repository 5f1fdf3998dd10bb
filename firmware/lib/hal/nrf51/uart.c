/* The link's UART, which the micro:bit's interface chip makes a USB serial port. */
#include "cortexm.h"
#include "hal.h"
#include "nrf51.h"
#include "polled.h"

enum { PIN_TX = 24, PIN_RX = 25, UART_INTERRUPT = 2, RXDRDY_BIT = 2, UART_ON = 4 };

/* The rate as a fraction of 2^32 of the clock, of which the hardware uses the upper 20 bits; Nordic's own
 * table rounds so too. */
#define BAUD_SETTING ((uint32_t)((((uint64_t)(HAL_BAUD) << 32) / F_CPU + 0x800) & 0xfffff000u))

void hal_start(void)
{
    /* The RC oscillator that runs after a reset is too inexact for a UART. */
    *reg(CLOCK_EVENTS_HFCLKSTARTED) = 0;
    *reg(CLOCK_TASKS_HFCLKSTART) = 1;
    while (!*reg(CLOCK_EVENTS_HFCLKSTARTED)) {
    }
    frame_release(&hal_rx);
    hal_window_start();

    *reg(GPIO_PIN_CNF + 4 * PIN_TX) = PIN_OUTPUT;
    *reg(GPIO_PIN_CNF + 4 * PIN_RX) = PIN_INPUT;
    *reg(UART_PSELTXD) = PIN_TX;
    *reg(UART_PSELRXD) = PIN_RX;
    *reg(UART_BAUDRATE) = BAUD_SETTING;
    *reg(UART_ENABLE) = UART_ON;
    *reg(UART_INTENSET) = 1u << RXDRDY_BIT;
    interrupt_enable(UART_INTERRUPT);
    *reg(UART_TASKS_STARTTX) = 1;
    *reg(UART_TASKS_STARTRX) = 1;
}

bool uart_take(uint8_t *byte)
{
    if (!*reg(UART_EVENTS_RXDRDY)) {
        return false;
    }
    *reg(UART_EVENTS_RXDRDY) = 0; /* before the reading: that may bring the next byte up at once */
    *byte = (uint8_t)*reg(UART_RXD);
    return true;
}

void uart_sleep(void)
{
    interrupt_forget(UART_INTERRUPT);
    if (!*reg(UART_EVENTS_RXDRDY)) {
        sleep();
    }
}

void hal_put(uint8_t byte)
{
    *reg(UART_EVENTS_TXDRDY) = 0;
    *reg(UART_TXD) = byte;
    while (!*reg(UART_EVENTS_TXDRDY)) {
    }
}
