/* How many instructions run between SEI and a waiting interrupt, and between RETI and the next one?
 * UDRE asks for as long as there is room in the transmitter, so the handler is entered again and again. */
#include "board.inc"
        jmp     main
        .org    USART_UDRE_vect_num * 4
        rjmp    handler
        .org    _VECTORS_SIZE
handler:
        inc     r21
        cpi     r21, 1
        brne    1f
        mov     r22, r20                ; instructions before the first entry
1:      cpi     r21, 10
        brne    2f
        mov     r23, r20                ; and before the tenth
        ldi     r16, 1 << RXEN0 | 1 << TXEN0
        sts     UCSR0B, r16             ; no more of it
2:      reti
        .global main
main:   begin
        clr     r20
        clr     r21
        ldi     r16, 1 << RXEN0 | 1 << TXEN0 | 1 << UDRIE0
        sts     UCSR0B, r16
        sei
        .rept   30
        inc     r20
        .endr
        cli
        send    r22
        send    r23
        send    r21
        stop
