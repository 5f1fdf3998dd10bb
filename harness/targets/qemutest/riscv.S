/* The self-test of a simulated RISC-V: every form of forms.inc, some times over, inside a window of its own.
 * It has no start-up code and no UART, so that nothing is proved by what is to be proved. */
    .option arch, +zicsr
    .macro high
    sw s7, 0(s6)
    .endm

    .macro low
    sw zero, 0(s5)
    .endm

    .section .vectors, "ax"
    .globl hal_reset
hal_reset:
    la sp, stack_top
    li s6, SET
    li s5, CLEAR
    li s7, 1
    #include "forms.inc"
stop:
    wfi
    j stop
returns:
    ret
