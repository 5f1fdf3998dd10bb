/* The line to the host: requests come in, frames go out, both without the rest of the program waiting. */
#ifndef METER_SERIAL_H
#define METER_SERIAL_H

#include <stdint.h>

#include "frame.h"

/* Filled by the receiver; released by who has dealt with it. */
extern frame_rx_t serial_rx;

void serial_start(void);

/* Into the queue; waits only when that is full. */
void serial_put(uint8_t byte);

#endif
