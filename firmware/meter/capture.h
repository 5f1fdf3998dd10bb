/* Time, and how long the trigger pin was high: the pin is D8, the input of timer 1's capture unit. */
#ifndef METER_CAPTURE_H
#define METER_CAPTURE_H

#include <stdint.h>

/* Half a microsecond each at 16 MHz. Sixteen bits last 32 ms, far longer than a sample. */
#define CAPTURE_TICKS (F_CPU / 8)

typedef struct {
    uint16_t ticks; /* since the last call */
    uint16_t high;  /* of these, with the pin high */
} capture_t;

void capture_start(void);

capture_t capture_take(void);

#endif
