/* A window from the first received byte to the last of COUNT. */
#include "board.inc"
        jmp     main
        .org    _VECTORS_SIZE
        .global main
main:   begin
        ldi     r20, 'R'
        send    r20
        wait_for RXC0
        high
        lds     r20, UDR0
        ldi     r21, COUNT - 1
next:   wait_for RXC0
        lds     r20, UDR0
        dec     r21
        brne    next
        low
        send    r20
        stop
