/* What `kilobench doctor` runs to see whether the simulator counts as the chip does.
 *
 * Trigger windows on PB0, in this order: one for each instruction form of forms.inc; a stretch of 50 NOPs alone
 * and with an interrupt inside; a sleep that an interrupt ends. Then K is sent, and every byte comes back inverted.
 * Both edges of a window are OUT, so a window is 1 cycle longer than what lies inside. */
#define __SFR_OFFSET 0
#include <avr/io.h>

#define JOIN(a, b, c) a##b##c
#define REGISTER(name, number, letter) JOIN(name, number, letter)
#define STATUS REGISTER(UCSR, UART, A)
#define CONTROL REGISTER(UCSR, UART, B)
#define BAUD_LOW REGISTER(UBRR, UART, L)
#define DATA REGISTER(UDR, UART, )

        .text
        .org    0
        jmp     main
        .org    TIMER1_COMPA_vect_num * 4
        reti                            ; the vector itself, so that no jump is counted

        .org    _VECTORS_SIZE
returns:
        ret

        .macro  high
        out     PORTB, r17
        .endm
        .macro  low
        out     PORTB, r18
        .endm

        ; Compare interrupt A in 20 timer clocks; the timer stands still until TCCR1B is set to r19.
        .macro  arm_timer
        sts     TCCR1B, r18
        sts     TCNT1H, r18
        sts     TCNT1L, r18
        ldi     r16, 20
        sts     OCR1AH, r18
        sts     OCR1AL, r16
        ldi     r16, 0xff
        out     TIFR1, r16
        ldi     r16, 1 << OCIE1A
        sts     TIMSK1, r16
        ldi     r19, 1 << CS10
        .endm

        .global main
main:
        clr     r1
        ldi     r17, 1
        ldi     r18, 0
        sbi     DDRB, 0

#include "forms.inc"

        arm_timer
        high
        sts     TCCR1B, r19
        .rept   50
        nop
        .endr
        low

        arm_timer
        sei
        nop
        high
        sts     TCCR1B, r19
        .rept   50
        nop
        .endr
        low
        cli

        ldi     r16, 1 << SE            ; idle mode
        out     SMCR, r16
        arm_timer
        high
        sts     TCCR1B, r19
        sei
        sleep
        low
        cli
        sts     TIMSK1, r18

        ldi     r16, 1 << 1             ; U2X, with UBRR 1: 1 Mbaud from 16 MHz
        sts     STATUS, r16
        ldi     r16, 1
        sts     BAUD_LOW, r16
        ldi     r16, 0x18               ; receiver and transmitter on
        sts     CONTROL, r16
        ldi     r20, 'K'
send:
        sts     DATA, r20
wait:
        lds     r16, STATUS
        sbrs    r16, 7                  ; RXC
        rjmp    wait
        lds     r20, DATA
        com     r20
        rjmp    send
