/* Looks away for WAIT cycles after the first byte, then tells what the receiver kept: count, bytes, statuses. */
#include <avr/io.h>

static void put(uint8_t byte)
{
    while (!(UCSR0A & 1 << UDRE0)) {
    }
    UDR0 = byte;
}

int main(void)
{
    UCSR0A = 1 << U2X0;
    UBRR0 = 1;
    UCSR0B = 1 << RXEN0 | 1 << TXEN0;
    put('R');
    for (;;) {
        uint8_t bytes[8], statuses[8], count = 0;
        while (!(UCSR0A & 1 << RXC0)) {
        }
        __builtin_avr_delay_cycles(WAIT);
        while (UCSR0A & 1 << RXC0 && count < 8) {
            statuses[count] = UCSR0A & (1 << DOR0 | 1 << FE0);
            bytes[count++] = UDR0;
        }
        put(count);
        for (uint8_t i = 0; i < count; i++) {
            put(bytes[i]);
            put(statuses[i]);
        }
    }
}
