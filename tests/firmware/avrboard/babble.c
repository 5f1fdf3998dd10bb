/* Never stops sending. */
#include <avr/io.h>

int main(void)
{
    UCSR0A = 1 << U2X0;
    UBRR0 = 1;
    UCSR0B = 1 << TXEN0;
    for (;;) {
        while (!(UCSR0A & 1 << UDRE0)) {
        }
        UDR0 = 'U';
    }
}
