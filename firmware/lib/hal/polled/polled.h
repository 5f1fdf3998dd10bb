/* What wait.c needs of a UART that is asked for its bytes instead of interrupting.
 *
 * Every interrupt stays masked: an enabled one only ends the sleep. So nothing can run inside a window but the
 * model, and its count is the same every time. The price is that bytes are taken only while the firmware
 * waits, and that is all the link needs: the host is silent while the device works. */
#ifndef POLLED_H
#define POLLED_H

#include <stdbool.h>
#include <stdint.h>

/* Give the next byte and take it from the receiver; false if none has come. */
bool uart_take(uint8_t *byte);

/* Stop the CPU until a byte has come; not at all if one is there. */
void uart_sleep(void);

#endif
