/* One simulated chip with its serial line, its trigger pin and its faults. Time passes only in board_run. */
#ifndef AVRBOARD_BOARD_H
#define AVRBOARD_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include <simavr/avr_ioport.h>
#include <simavr/sim_avr.h>

#include "bytes.h"
#include "usart.h"

struct window {
    uint64_t start, cycles, slept;
};

/* What ended a run; the numbers are part of the socket protocol. */
enum outcome {
    RAN_ENOUGH = 0, /* the bytes asked for have arrived */
    RAN_OUT = 1,    /* so many cycles have passed */
    RAN_QUIET = 2,  /* the chip sleeps and nothing but the host can wake it */
    RAN_FAULT = 3,  /* the chip can't go on; see fault */
};

struct board {
    avr_t *avr;
    struct usart usart;
    uint64_t slept;
    unsigned entry_cycles;
    bool asleep, expired, dtr;
    uint64_t end; /* of the run that is under way, else 0 */

    const avr_ioport_t *trigger;
    uint8_t trigger_mask;
    bool trigger_high;
    struct window opened;
    struct bytes windows; /* of struct window */

    uint16_t lowest_sp;
    bool entering;

    uint32_t fault_pc;
    char fault[160]; /* empty while all is well */
};

/* False after saying on stderr why there can be no such board. */
bool board_make(struct board *board, const char *mcu, uint32_t hz, const char *elf, char uart, const char *trigger);

void board_reset(struct board *board);

/* DTR going active pulls the reset line through a capacitor, as on an Uno. */
void board_set_dtr(struct board *board, bool active);

/* At most so many cycles. With `whole`, a byte the device is already sending is waited for too, so that an answer
 * comes in one piece, as it does through a USB bridge. */
enum outcome board_run(struct board *board, uint32_t want, uint64_t cycles, bool whole);

/* Bytes of stack in use at the deepest moment since the start. */
uint32_t board_stack_peak(const struct board *board);

#endif
