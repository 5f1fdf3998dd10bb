/* Says E and computes for ever. */
#include <avr/io.h>

int main(void)
{
    UCSR0A = 1 << U2X0;
    UBRR0 = 1;
    UCSR0B = 1 << TXEN0;
    UDR0 = 'E';
    for (volatile uint8_t i = 0;; i++) {
    }
}
