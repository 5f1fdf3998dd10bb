#include <avr/interrupt.h>
#include <avr/io.h>

#include "serial.h"

#define UBRR_VALUE (F_CPU / 8 / HAL_BAUD - 1)
_Static_assert(F_CPU % (8 * HAL_BAUD) == 0, "the baud rate must divide the clock");

frame_rx_t serial_rx;

/* 256 bytes, so that the places run round by themselves: eight frames of samples. */
static struct {
    uint8_t bytes[256];
    volatile uint8_t in, out;
} queue;

ISR(USART_RX_vect)
{
    frame_receive(&serial_rx, UDR0);
}

ISR(USART_UDRE_vect)
{
    if (queue.out == queue.in) {
        UCSR0B &= (uint8_t) ~(1 << UDRIE0);
    } else {
        UDR0 = queue.bytes[queue.out++];
    }
}

void serial_start(void)
{
    frame_release(&serial_rx);
    UCSR0A = 1 << U2X0;
    UBRR0 = UBRR_VALUE;
    UCSR0C = 1 << UCSZ01 | 1 << UCSZ00;
    UCSR0B = 1 << RXCIE0 | 1 << RXEN0 | 1 << TXEN0;
}

void serial_put(uint8_t byte)
{
    uint8_t next = (uint8_t)(queue.in + 1);
    while (next == queue.out) {
    }
    queue.bytes[queue.in] = byte;
    queue.in = next;
    /* The interrupt may take the bit back between reading and writing here; then it runs once for nothing. */
    UCSR0B |= 1 << UDRIE0;
}
