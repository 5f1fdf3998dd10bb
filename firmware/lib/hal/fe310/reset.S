/* The first instructions after a reset. A trap means that the stack has met the data, or a defect: the program
 * starts anew, and the host hears its READY and knows that something was lost. */
    .option arch, +zicsr
    .section .vectors, "ax"
    .globl hal_reset
    .balign 4
hal_reset:
    csrci mstatus, 8        /* no interrupts, ever: see polled.h */
    la t0, hal_reset
    csrw mtvec, t0
    la sp, stack_top
    j start
