/* Which USART the link uses. */
#ifndef AVR_UART_H
#define AVR_UART_H

#include <avr/io.h>

/* The ATmega32U4 has only USART1, and there D0 and D1 lead to it. */
#if HAL_UART == 0
#define UBRR UBRR0
#define UCSRA UCSR0A
#define UCSRB UCSR0B
#define UCSRC UCSR0C
#define UDR UDR0
#if defined(USART_RX_vect)
#define RX_VECTOR USART_RX_vect
#else
#define RX_VECTOR USART0_RX_vect
#endif
#else
#define UBRR UBRR1
#define UCSRA UCSR1A
#define UCSRB UCSR1B
#define UCSRC UCSR1C
#define UDR UDR1
#define RX_VECTOR USART1_RX_vect
#endif

/* The bits have the same places in every USART of the family. */
enum { U2X_BIT = 1, UDRE_BIT = 5, RXC_BIT = 7, UCSZ_8 = 0x06, RXCIE_BIT = 7, RXEN_BIT = 4, TXEN_BIT = 3 };

#endif
