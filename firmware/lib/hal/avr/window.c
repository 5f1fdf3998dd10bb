/* The compute window: trigger pin and cycle counter, opened and closed at the same moment.
 *
 * Timer 1 counts every clock; an interrupt at its overflow counts the upper half. At both ends the access to
 * the counter and the one to the pin are neighbours of two cycles each, with interrupts off, so the count
 * equals the time between the pin's edges: their difference is the same zero at every window. */
#include <avr/interrupt.h>
#include <avr/io.h>

#include "hal.h"
#include "window.h"

void hal_window_start(void)
{
    HAL_TRIGGER_PORT &= (uint8_t) ~(1 << HAL_TRIGGER_BIT);
    HAL_TRIGGER_DDR |= 1 << HAL_TRIGGER_BIT;
}

/* The overflows so far are kept in GPIOR1:GPIOR0, which one-cycle instructions reach, and GPIOR2 saves
 * SREG without the stack. 24 cycles with entry, vector jump and return on the ATmega328P, 26 on the
 * ATmega2560 with its 22-bit program counter: 0.04 % of a long window, and no part of one shorter than
 * 65536 cycles. */
ISR(TIMER1_OVF_vect, ISR_NAKED)
{
    __asm__ volatile("push r24           \n\t" /* 2 */
                     "in   r24, %[sreg]  \n\t" /* 1 */
                     "out  %[save], r24  \n\t" /* 1 */
                     "in   r24, %[low]   \n\t" /* 1 */
                     "inc  r24           \n\t" /* 1 */
                     "out  %[low], r24   \n\t" /* 1 */
                     "brne 1f            \n\t" /* 2, or 1 and the three below */
                     "in   r24, %[high]  \n\t" /* 1 */
                     "inc  r24           \n\t" /* 1 */
                     "out  %[high], r24  \n\t" /* 1 */
                     "1:                 \n\t"
                     "in   r24, %[save]  \n\t" /* 1 */
                     "out  %[sreg], r24  \n\t" /* 1 */
                     "pop  r24           \n\t" /* 2 */
                     "reti               \n\t" /* 4 */
                     :
                     : [sreg] "I"(_SFR_IO_ADDR(SREG)), [save] "I"(_SFR_IO_ADDR(GPIOR2)),
                       [low] "I"(_SFR_IO_ADDR(GPIOR0)), [high] "I"(_SFR_IO_ADDR(GPIOR1)));
}

void hal_window_open(void)
{
    GPIOR0 = 0;
    GPIOR1 = 0;
    cli();
    TCCR1A = 0;
    TCCR1B = 1 << CS10;
    TCNT1 = 0;
    TIFR1 = 1 << TOV1;
    TIMSK1 = 1 << TOIE1;
    __asm__ volatile("sts %[counth], __zero_reg__ \n\t"
                     "sts %[countl], __zero_reg__ \n\t" /* the counter begins */
                     "sbi %[port], %[bit]         \n\t" /* two cycles later the pin */
                     "sei                         \n\t"
                     :
                     : [counth] "n"(_SFR_MEM_ADDR(TCNT1H)), [countl] "n"(_SFR_MEM_ADDR(TCNT1L)),
                       [port] "I"(_SFR_IO_ADDR(HAL_TRIGGER_PORT)), [bit] "I"(HAL_TRIGGER_BIT)
                     : "memory");
}

uint32_t hal_window_close(void)
{
    uint8_t low, high;
    __asm__ volatile("cli                    \n\t"
                     "lds %[low], %[countl]  \n\t" /* the counter is read; its high byte is latched with it */
                     "cbi %[port], %[bit]    \n\t" /* two cycles later the pin */
                     "lds %[high], %[counth] \n\t"
                     : [low] "=r"(low), [high] "=r"(high)
                     : [counth] "n"(_SFR_MEM_ADDR(TCNT1H)), [countl] "n"(_SFR_MEM_ADDR(TCNT1L)),
                       [port] "I"(_SFR_IO_ADDR(HAL_TRIGGER_PORT)), [bit] "I"(HAL_TRIGGER_BIT)
                     : "memory");
    uint16_t overflows = (uint16_t)(GPIOR1 << 8) | GPIOR0;
    /* An overflow whose interrupt had no time to run; the high byte tells whether it came before the
     * reading. */
    if ((TIFR1 & 1 << TOV1) && high < 0x80) {
        overflows++;
    }
    TIMSK1 = 0;
    TCCR1B = 0; /* a timer that runs on would wake the sleeping CPU */
    sei();
    return (uint32_t)overflows << 16 | (uint16_t)(high << 8) | low;
}
