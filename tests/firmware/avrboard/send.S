/* Three bytes through the transmitter: when is there room for the third, and when has the last one left? */
#include "board.inc"
        jmp     main
        .org    _VECTORS_SIZE
        .global main
main:   begin
        ldi     r20, 'a'
        ldi     r21, 'b'
        ldi     r22, 'c'
        high
        sts     UDR0, r20
        sts     UDR0, r21
        wait_for UDRE0
        low
        high
        sts     UDR0, r22
        wait_for TXC0
        low
        stop
