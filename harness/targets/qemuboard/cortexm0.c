/* How long an instruction takes on a Cortex-M0 with memory that never makes it wait and with the single-cycle
 * multiplier, as the nRF51 has them: "Instruction set summary" in the core's technical reference manual,
 * DDI 0432C, table 3-1. Interrupts do not occur in a window and are not modelled. */
#include "cortexm0.h"

enum {
    REGISTERS = 1, /* arithmetic, moves, shifts, comparisons, extensions; the multiplication too */
    MEMORY = 2,    /* one load or store */
    JUMP = 3,      /* B, BX, BLX, and whatever else writes the PC from a register */
    LONG = 4,      /* every instruction of 32 bits: BL, MRS, MSR and the barriers */
    WAIT = 2,      /* WFI and WFE themselves, not what they wait for */
};

/* 1 + N for N registers, 4 + N when the PC is one of them. */
static unsigned several(uint16_t list, bool with_pc)
{
    unsigned n = (unsigned)__builtin_popcount(list);
    return with_pc ? 4 + n : 1 + n;
}

static unsigned high_registers(uint16_t code)
{
    enum { ADD, CMP, MOV, BRANCH } op = code >> 8 & 3;
    unsigned to = (code & 7) | (code >> 4 & 8);
    if (op == BRANCH || (op != CMP && to == 15)) {
        return JUMP;
    }
    return REGISTERS;
}

static unsigned miscellaneous(uint16_t code)
{
    switch (code >> 8) {
    case 0xb4:
    case 0xb5: /* PUSH; bit 8 is LR */
        return several(code & 0x1ff, false);
    case 0xbc:
    case 0xbd: /* POP; bit 8 is PC */
        return several(code & 0x1ff, code & 0x100);
    case 0xbf: /* hints */
        return code == 0xbf20 || code == 0xbf30 ? WAIT : REGISTERS;
    default:
        return REGISTERS;
    }
}

timing_t cortexm0_timing(uint16_t first)
{
    switch (first >> 12) {
    case 0x4:
        if (first >= 0x4800) {
            return (timing_t){MEMORY, false};
        }
        return (timing_t){first >= 0x4400 ? high_registers(first) : REGISTERS, false};
    case 0x5:
    case 0x6:
    case 0x7:
    case 0x8:
    case 0x9:
        return (timing_t){MEMORY, false};
    case 0xb:
        return (timing_t){miscellaneous(first), false};
    case 0xc: /* LDM and STM */
        return (timing_t){several(first & 0xff, false), false};
    case 0xd:
        return (timing_t){REGISTERS, first < 0xde00};
    case 0xe:
        return (timing_t){first < 0xe800 ? JUMP : LONG, false};
    case 0xf:
        return (timing_t){LONG, false};
    default:
        return (timing_t){REGISTERS, false};
    }
}
