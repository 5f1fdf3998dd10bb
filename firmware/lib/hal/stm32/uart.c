/* The link's USART. */
#include "cortexm.h"
#include "hal.h"
#include "polled.h"
#include "stm32.h"

enum { RXNE = 1 << 5, TXE = 1 << 7 };                                  /* in SR */
enum { RE = 1 << 2, TE = 1 << 3, RXNEIE = 1 << 5, UE = 1 << 13 };      /* in CR1 */

void hal_start(void)
{
    frame_release(&hal_rx);
    pins_start();
    hal_window_start();
    *reg(USART_BRR) = (F_CPU + HAL_BAUD / 2) / HAL_BAUD; /* in sixteenths, as the register takes it */
    *reg(USART_CR1) = UE | TE | RE | RXNEIE;
    interrupt_enable(USART_INTERRUPT);
}

bool uart_take(uint8_t *byte)
{
    if (!(*reg(USART_SR) & RXNE)) {
        return false;
    }
    *byte = (uint8_t)*reg(USART_DR); /* after SR this also clears an overrun, which would end every sleep */
    return true;
}

void uart_sleep(void)
{
    interrupt_forget(USART_INTERRUPT);
    if (!(*reg(USART_SR) & RXNE)) {
        sleep();
    }
}

void hal_put(uint8_t byte)
{
    while (!(*reg(USART_SR) & TXE)) {
    }
    *reg(USART_DR) = byte;
}
