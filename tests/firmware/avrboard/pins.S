/* Windows that are none: the pin is an input with a pull-up. Then SLEEP without SE, which is a NOP. */
#include "board.inc"
        jmp     main
        .org    _VECTORS_SIZE
        .global main
main:   begin
        cbi     DDRB, 0
        high
        low
        high
        high
        sbi     DDRB, 0                 ; now it is driven: a window begins here
        nop
        high                            ; no edge
        low
        high
        sleep
        low
        stop
