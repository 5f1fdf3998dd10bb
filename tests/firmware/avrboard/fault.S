/* One way or another this program cannot go on; it says F first. */
#include "board.inc"
        jmp     main
        .org    _VECTORS_SIZE
        .global main
main:   begin
        ldi     r20, 'F'
        send    r20
        wait_for TXC0
        .global culprit
        .type   culprit, @function
culprit:
#if CASE == 1
        .word   0x0001
        rjmp    .-2
#elif CASE == 2                         /* beyond the end of flash, through erased words */
        ldi     r30, lo8(0x3ff0)
        ldi     r31, hi8(0x3ff0)
        ijmp
#elif CASE == 3
        ldi     r16, 1 << SE
        out     SMCR, r16
        cli
        sleep
#elif CASE == 4
        cli
        rjmp    .-2
#elif CASE == 5
        ldi     r16, 1 << SE | 1 << SM1 /* power-down */
        out     SMCR, r16
        sei
        sleep
#elif CASE == 6                         /* returns from where nobody called */
        ret
#endif
        .size   culprit, .-culprit
