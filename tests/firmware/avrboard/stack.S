/* A stack of known depth: DEPTH bytes below the end of RAM at the deepest, by STEP. */
#include "board.inc"
        jmp     main
        .org    _VECTORS_SIZE
        .global main
main:   begin
        ldi     r20, 'S'
        send    r20
#if STEP == 1                           /* pushes inside a call: 2 + 3 */
        rcall   1f
        stop
1:      push    r20
        push    r20
        push    r20
        pop     r20
        pop     r20
        pop     r20
        ret
#elif STEP == 2                         /* a frame of 300 bytes inside a call */
        rcall   1f
        stop
1:      in      r28, SPL
        in      r29, SPH
        subi    r28, lo8(300)
        sbci    r29, hi8(300)
        out     SPH, r29
        out     SPL, r28
        subi    r28, lo8(-300)
        sbci    r29, hi8(-300)
        out     SPH, r29
        out     SPL, r28
        ret
#elif STEP == 3                         /* between the two OUTs SP is 0x0701, which must not count */
        ldi     r28, 0x01
        ldi     r29, 0x08
        out     SPH, r29
        out     SPL, r28
        ldi     r28, 0xff
        ldi     r29, 0x07
        out     SPH, r29
        out     SPL, r28
        stop
#elif STEP == 4                         /* a push that crosses a page of 256 */
        ldi     r28, 0x00
        ldi     r29, 0x08
        out     SPH, r29
        out     SPL, r28
        push    r20
        pop     r20
        stop
#endif
