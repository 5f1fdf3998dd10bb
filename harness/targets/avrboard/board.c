#include "board.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"

/* Exported by libsimavr, declared only in a header it does not install. */
avr_flashaddr_t avr_run_one(avr_t *avr);

enum {
    /* SMCR has this address and layout on the ATmega x8, x0/x1 and xU4 families. */
    SMCR = 0x53,
    SMCR_SE = 0x01,
    SMCR_MODE = 0x0e,
    RJMP_SELF = 0xcfff,
    UNLIMITED = 1 << 30,
    MOST_AHEAD = 512, /* bytes; a device that never stops sending must not keep its host waiting */
    RAM_AT_POWER_UP = 0xa5, /* arbitrary on the chip: firmware must not find zeros it did not write */
};

static struct board *the_board; /* for simavr's logger, which carries no parameter */

static void fault(struct board *b, const char *format, ...)
{
    if (b->fault[0])
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(b->fault, sizeof b->fault, format, arguments);
    va_end(arguments);
    b->fault_pc = b->avr->pc;
    b->avr->state = cpu_Crashed;
}

/* simavr reports an illegal instruction only to its log and carries on as if it were a NOP. */
static void on_log(avr_t *logging, const int level, const char *format, va_list arguments)
{
    (void)logging;
    const avr_t *avr = the_board->avr;
    if (level != LOG_ERROR || !avr)
        return;
    char text[160];
    vsnprintf(text, sizeof text, format, arguments);
    unsigned opcode = avr->flash[avr->pc] | avr->flash[avr->pc + 1] << 8;
    if (strstr(text, "Invalid Opcode"))
        fault(the_board, "illegal instruction %04x", opcode);
    else if (strstr(text, "out of ram"))
        fault(the_board, "an access beyond the end of RAM by instruction %04x", opcode);
    else if (strstr(text, "low registers"))
        fault(the_board, "the stack has run into the registers");
}

/* ---- what is watched ---- */

static void set_trigger(struct board *b, bool high)
{
    if (high == b->trigger_high)
        return;
    b->trigger_high = high;
    if (high) {
        b->opened = (struct window){.start = b->avr->cycle, .slept = b->slept};
    } else {
        b->opened.cycles = b->avr->cycle - b->opened.start;
        b->opened.slept = b->slept - b->opened.slept;
        bytes_append(&b->windows, &b->opened, sizeof b->opened);
    }
}

static void on_pin(avr_irq_t *irq, uint32_t value, void *param)
{
    struct board *b = param;
    (void)irq;
    set_trigger(b, (value & 1) && (b->avr->data[b->trigger->r_ddr] & b->trigger_mask));
}

/* A pull-up makes the level of an input, but nobody drives it. */
static void on_direction(avr_irq_t *irq, uint32_t value, void *param)
{
    struct board *b = param;
    (void)irq;
    set_trigger(b, value & b->avr->data[b->trigger->r_port] & b->trigger_mask);
}

/* Called for every push, pop, call and return, so only one half of SP is watched. Firmware writes SPH first, so the
 * other half is in place; simavr itself writes SPL first, but then SP moves by three at most. */
static void on_stack_pointer(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param)
{
    struct board *b = param;
    uint16_t sp = (uint16_t)(avr->data[R_SPL] | avr->data[R_SPH] << 8);
    bool by_out = (avr->flash[avr->pc + 1] & 0xf8) == 0xb8 && !b->entering;
    sp = by_out ? (uint16_t)((sp & 0xff00) | value) : (uint16_t)(sp + (int8_t)(value - avr->data[R_SPL]));
    avr->data[address] = value;
    if (sp < b->lowest_sp)
        b->lowest_sp = sp;
}

uint32_t board_stack_peak(const struct board *b)
{
    return (uint32_t)b->avr->ramend - b->lowest_sp;
}

/* ---- running ---- */

static avr_cycle_count_t on_deadline(avr_t *avr, avr_cycle_count_t when, void *param)
{
    (void)avr, (void)when;
    ((struct board *)param)->expired = true;
    return 0;
}

/* simavr enters a handler in no time. The chip takes 4 cycles, 5 where the program counter has three bytes, and as
 * many again when it was asleep ("Interrupt Response Time"). */
static bool take_interrupt(struct board *b)
{
    avr_t *avr = b->avr;
    while (avr->interrupt_state > 0) {
        bool enabled = avr->sreg[S_I];
        b->entering = true;
        avr_service_interrupts(avr);
        b->entering = false;
        if (enabled && !avr->sreg[S_I]) {
            avr->cycle += b->asleep ? 2 * b->entry_cycles : b->entry_cycles;
            b->asleep = false;
            usart_refresh(&b->usart);
            return true;
        }
    }
    return false;
}

static void fall_asleep(struct board *b)
{
    avr_t *avr = b->avr;
    uint8_t smcr = avr->data[SMCR];
    if (!(smcr & SMCR_SE)) /* SLEEP is a NOP then; simavr does not look */
        avr->state = cpu_Running;
    else if (!avr->sreg[S_I])
        fault(b, "sleep with interrupts off, for ever");
    else if (smcr & SMCR_MODE)
        fault(b, "sleep mode %d, in which the chip cannot hear its UART; only idle (0) is simulated",
              (smcr & SMCR_MODE) >> 1);
    else
        b->asleep = true;
}

static void execute(struct board *b)
{
    avr_t *avr = b->avr;
    avr_flashaddr_t next = avr_run_one(avr);
    if (avr->state == cpu_Crashed) {
        fault(b, "the program left the flash");
        return;
    }
    if (avr->state == cpu_Sleeping)
        fall_asleep(b);
    avr->pc = next;
    if (avr->interrupt_state < 0) /* simavr counts down from SEI and RETI: one more instruction comes first */
        avr_service_interrupts(avr);
}

/* A reset puts SP to the end of RAM, which is no movement of the stack. */
static void restart(struct board *b, void (*how)(avr_t *avr))
{
    uint16_t lowest_sp = b->lowest_sp;
    how(b->avr);
    b->lowest_sp = lowest_sp;
}

/* To the next event, or a part of the way. False when none is left that could wake the chip. */
static bool proceed(struct board *b, avr_cycle_count_t until_event)
{
    avr_t *avr = b->avr;
    if (avr->run != avr_callback_run_raw) { /* the watchdog asks for a reset this way */
        restart(b, avr->run);
        return true;
    }
    if (take_interrupt(b))
        return true;
    if (avr->state == cpu_Sleeping) {
        const avr_cycle_timer_slot_t *first = avr->cycle_timers.timer;
        if (first->timer == on_deadline && !first->next)
            return false;
        avr->cycle += until_event;
        b->slept += until_event;
        return true;
    }
    execute(b);
    return true;
}

static bool stuck(const struct board *b)
{
    const avr_t *avr = b->avr;
    unsigned opcode = avr->flash[avr->pc] | avr->flash[avr->pc + 1] << 8;
    return opcode == RJMP_SELF && !avr->sreg[S_I];
}

enum outcome board_run(struct board *b, uint32_t want, uint64_t cycles, bool whole)
{
    avr_t *avr = b->avr;
    enum outcome outcome = RAN_OUT;
    b->end = avr->cycle + cycles;
    b->expired = false;
    avr_cycle_timer_register(avr, cycles, on_deadline, b);
    while (!b->fault[0]) {
        avr_cycle_count_t until_event = avr_cycle_timer_process(avr);
        size_t arrived = bytes_count(&b->usart.arrived);
        bool going_on = whole && b->usart.sending && arrived < (size_t)want + MOST_AHEAD;
        if (want && arrived >= want && !going_on) {
            outcome = RAN_ENOUGH;
            break;
        }
        if (b->expired) {
            if (stuck(b))
                fault(b, "an endless loop with interrupts off");
            break;
        }
        if (!proceed(b, until_event)) { /* only the host can wake it: the rest of the time is slept through */
            b->slept += b->end - avr->cycle;
            avr->cycle = b->end;
            outcome = RAN_QUIET;
            break;
        }
    }
    b->end = 0;
    avr_cycle_timer_cancel(avr, on_deadline, b);
    return b->fault[0] ? RAN_FAULT : outcome;
}

/* ---- making and resetting ---- */

void board_reset(struct board *b)
{
    restart(b, avr_reset);
}

void board_set_dtr(struct board *b, bool active)
{
    if (active && !b->dtr)
        board_reset(b);
    b->dtr = active;
}

static bool attach_trigger(struct board *b, const char *name)
{
    char port = name[0];
    int bit = name[0] ? name[1] - '0' : -1;
    if (bit < 0 || bit > 7 || name[2])
        return false;
    for (avr_io_t *io = b->avr->io_port; io; io = io->next)
        if (!strcmp(io->kind, "port") && ((avr_ioport_t *)io)->name == port) {
            b->trigger = (avr_ioport_t *)io;
            b->trigger_mask = (uint8_t)(1 << bit);
            avr_irq_register_notify(io->irq + bit, on_pin, b);
            avr_irq_register_notify(io->irq + IOPORT_IRQ_DIRECTION_ALL, on_direction, b);
            return true;
        }
    return false;
}

static void (*chip_reset)(avr_t *avr);

/* A reset, the watchdog's too, stops every timer of simavr and takes back the run limit. */
static void on_reset(avr_t *avr)
{
    struct board *b = the_board;
    if (chip_reset)
        chip_reset(avr);
    avr->run_cycle_limit = UNLIMITED;
    if (b->end > avr->cycle)
        avr_cycle_timer_register(avr, b->end - avr->cycle, on_deadline, b);
    b->asleep = b->trigger_high = false;
    b->fault[0] = 0;
}

bool board_make(struct board *b, const char *mcu, uint32_t hz, const char *elf, char uart, const char *trigger)
{
    memset(b, 0, sizeof *b);
    the_board = b;
    avr_global_logger_set(on_log);
    avr_t *avr = avr_make_mcu_by_name(mcu);
    if (!avr) {
        fprintf(stderr, "simavr does not know the chip %s\n", mcu);
        return false;
    }
    avr_init(avr);
    chip_reset = avr->reset;
    avr->reset = on_reset;
    avr->frequency = hz;
    avr->log = LOG_ERROR;
    avr->codeend = avr->flashend;
    avr->data = realloc(avr->data, 1 << 16); /* simavr notices a write beyond RAM, and then does it */
    memset(avr->data + avr->ioend + 1, RAM_AT_POWER_UP, avr->ramend - avr->ioend);
    char problem[120];
    if (!image_load(elf, avr->flash, avr->flashend + 1, problem, sizeof problem)) {
        fprintf(stderr, "%s cannot be loaded: %s\n", elf, problem);
        return false;
    }
    b->avr = avr;
    b->entry_cycles = avr->address_size == 3 ? 5 : 4;
    if (!usart_attach(&b->usart, avr, uart)) {
        fprintf(stderr, "%s has no UART named %c\n", mcu, uart);
        return false;
    }
    if (!attach_trigger(b, trigger)) {
        fprintf(stderr, "%s has no pin named %s\n", mcu, trigger);
        return false;
    }
    avr->io[AVR_DATA_TO_IO(R_SPL)].w.c = on_stack_pointer;
    avr->io[AVR_DATA_TO_IO(R_SPL)].w.param = b;
    b->lowest_sp = avr->ramend;
    board_reset(b);
    return true;
}
