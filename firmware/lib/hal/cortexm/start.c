/* Start-up code for every Cortex-M: the vectors, RAM, then main. */
#include "cortexm.h"
#include "memory.h"

int main(void);
void hal_reset(void);

/* A fault means that the stack has met the data, or a defect. The board starts anew, and the host hears its
 * READY and knows that something was lost; a loop for ever would tell nobody. */
static void fault(void)
{
    enum { AIRCR = 0xe000ed0c, KEY_AND_RESET = 0x05fa0004 };
    *reg(AIRCR) = KEY_AND_RESET;
    for (;;) {
    }
}

typedef void (*vector_t)(void);

/* The chips' own interrupts have none: they stay masked (polled.h). */
__attribute__((section(".vectors"), used)) static const vector_t vectors[16] = {
    (vector_t)stack_top, /* the initial stack pointer */
    hal_reset,
    [2 ... 15] = fault,
};

__attribute__((used)) void hal_reset(void)
{
    __asm__ volatile("cpsid i" ::: "memory");
#ifdef __ARM_FP
    /* The FPU is off after a reset, and the compiler may use its registers anywhere from here on. */
    enum { CPACR = 0xe000ed88, FPU_FULL_ACCESS = 0x00f00000 };
    *reg(CPACR) |= FPU_FULL_ACCESS;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
    memory_start();
    main();
    for (;;) {
    }
}
