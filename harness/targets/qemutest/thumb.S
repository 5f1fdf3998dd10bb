/* The self-test of a simulated Cortex-M: every form of forms.inc, some times over, inside a window of its own.
 * It has no start-up code and no UART, so that nothing is proved by what is to be proved. */
    .syntax unified
    .thumb

    .section .vectors, "a"
    .word stack_top
    .word hal_reset + 1
    .rept 14
    .word stop + 1
    .endr

    .macro high
    strh r7, [r6]
    .endm

    /* Constants of the form lie behind it, where the processor does not come by. */
    .macro low
    strh r7, [r5]
    b 9f
    .ltorg
9:
    .endm

    .text
    .thumb_func
returns:
    bx lr
    .thumb_func
pushes:
    push {r0, lr}
    pop {r0, pc}

    .globl hal_reset
    .thumb_func
hal_reset:
    cpsid i
    ldr r6, =SET
    ldr r5, =CLEAR
    movs r7, #1
    #include "forms.inc"
    .thumb_func
stop:
    wfi
    b stop
