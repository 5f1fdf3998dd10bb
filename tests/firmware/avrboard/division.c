/* Signed division by a power of two: at -Os gcc adds 2^n - 1 to negative numbers by a skip over ADIW. Also tables
 * that must not be taken for code, and a switch that makes a jump table. */
#include <avr/io.h>
#include <avr/pgmspace.h>

const uint16_t model_table[] PROGMEM = {0xfc00, 0x960c, 0x1001, 0x971f};

__attribute__((noinline)) int16_t divided(int16_t value)
{
    return value / DIVISOR;
}

__attribute__((noinline)) void chosen(uint8_t value)
{
    switch (value) {
    case 0: PORTB = 3; break;
    case 1: PORTC = 9; break;
    case 2: PORTD = 4; break;
    case 3: PORTB = 7; break;
    case 4: DDRB = 1; break;
    case 5: DDRC = 8; break;
    case 6: DDRD = 2; break;
    case 7: PORTC = 5; break;
    case 8: PORTD = 11; break;
    }
}

int main(void)
{
    volatile int16_t value = -1000;
    for (;;) {
        value = divided(value) + pgm_read_word(&model_table[value & 3]);
        chosen((uint8_t)value);
    }
}
