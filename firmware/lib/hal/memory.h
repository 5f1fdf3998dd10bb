/* The first thing after a reset: RAM as C expects it. For start-up code only, before any variable is used. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdint.h>

/* Where flat.ld has put things. */
extern uint32_t data_image[], data_start[], data_end[], bss_start[], bss_end[], stack_top[];

static inline void memory_start(void)
{
    const uint32_t *from = data_image;
    for (uint32_t *to = data_start; to < data_end; to++) {
        *to = *from++;
    }
    for (uint32_t *to = bss_start; to < bss_end; to++) {
        *to = 0;
    }
}

/* A register of the chip, by its address. */
static inline volatile uint32_t *reg(uint32_t address) { return (volatile uint32_t *)address; }

#endif
