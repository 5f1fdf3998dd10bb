/* Sleeps between bytes; each is echoed with one added, after a window in which it also sleeps once. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

static volatile uint8_t got, byte;

ISR(USART_RX_vect)
{
    byte = UDR0;
    got = 1;
}

EMPTY_INTERRUPT(TIMER0_COMPA_vect)

static void wait(void)
{
    cli();
    while (!got) {
        sei();
        sleep_cpu();
        cli();
    }
    got = 0;
    sei();
}

int main(void)
{
    DDRB = 1;
    UCSR0A = 1 << U2X0;
    UBRR0 = 1;
    UCSR0B = 1 << RXCIE0 | 1 << RXEN0 | 1 << TXEN0;
    sleep_enable();
    sei();
    UDR0 = 'S';
    for (;;) {
        wait();
        PORTB = 1;
        TCNT0 = 0;
        OCR0A = 100;
        TIFR0 = 1 << OCF0A;
        TIMSK0 = 1 << OCIE0A;
        TCCR0B = 1 << CS00;
        sleep_cpu();
        TCCR0B = 0;
        TIMSK0 = 0;
        PORTB = 0;
        while (!(UCSR0A & 1 << UDRE0)) {
        }
        UDR0 = byte + 1;
    }
}
