#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdbool.h>

#include "capture.h"

enum {
    /* Divide the clock by 8; the noise canceller wants four equal readings, 0.25 µs. */
    RUNNING = 1 << ICNC1 | 1 << CS11,
};

static struct {
    uint16_t last; /* call of capture_take */
    uint16_t rose; /* when the pin did, or the last call if it was high then */
    uint16_t high; /* ticks of pulses that have ended since the last call */
    bool is_high;
} pin;

/* The hardware has kept the moment of the edge, so it does not matter when this comes to run. */
static void edge(void)
{
    uint16_t at = ICR1;
    if (pin.is_high) {
        pin.high += at - pin.rose;
        TCCR1B = RUNNING | 1 << ICES1;
    } else {
        pin.rose = at;
        TCCR1B = RUNNING;
    }
    pin.is_high = !pin.is_high;
    TIFR1 = 1 << ICF1; /* choosing the other edge may set the flag (data sheet, "ICES1") */
}

ISR(TIMER1_CAPT_vect)
{
    edge();
}

void capture_start(void)
{
    DDRB &= (uint8_t) ~(1 << DDB0);
    PORTB &= (uint8_t) ~(1 << PORTB0); /* no pull-up: a pin that leads nowhere should read low */
    TCCR1A = 0;
    pin.is_high = PINB & 1 << PINB0;
    TCCR1B = pin.is_high ? RUNNING : RUNNING | 1 << ICES1;
    TIFR1 = 1 << ICF1;
    TIMSK1 = 1 << ICIE1;
}

capture_t capture_take(void)
{
    uint8_t state = SREG;
    cli();
    if (TIFR1 & 1 << ICF1) {
        edge();
    }
    uint16_t now = TCNT1;
    capture_t taken = {.ticks = now - pin.last, .high = pin.high};
    if (pin.is_high) {
        taken.high += now - pin.rose;
        pin.rose = now;
    }
    pin.high = 0;
    pin.last = now;
    SREG = state;
    return taken;
}
