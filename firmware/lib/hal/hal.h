/* What main.c needs of a board; one folder a MCU family beside this file implements it.
 *
 * The build gives the board's facts as macros: HAL_BOARD (its name), HAL_VECTOR_BYTES (the largest feature
 * vector it can keep in RAM beside everything else), F_CPU, and what the family's own files need. */
#ifndef HAL_H
#define HAL_H

#include <stdint.h>

#include "frame.h"

/* Filled only while hal_wait waits. */
extern frame_rx_t hal_rx;

/* Clocks, UART, trigger pin low, interrupts on. */
void hal_start(void);

/* Sleep until something has come. FRAME_DAMAGED is reported once; a kept frame until it is released. */
frame_event_t hal_wait(void);

/* Send one byte, waiting for room. */
void hal_put(uint8_t byte);

/* The compute window: the trigger pin is high and the cycle counter runs from open to close. Both are real
 * calls, in a file of their own, so that no compiler moves work across them. close gives the cycles
 * between. */
void hal_window_open(void);
uint32_t hal_window_close(void);

#endif
