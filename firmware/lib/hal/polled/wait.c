/* Waiting for a frame, for all boards whose UART is polled. */
#include "polled.h"

#include "hal.h"

frame_rx_t hal_rx;

frame_event_t hal_wait(void)
{
    while (hal_rx.event == FRAME_NONE) {
        uint8_t byte;
        if (uart_take(&byte)) {
            frame_receive(&hal_rx, byte);
        } else {
            uart_sleep();
        }
    }
    frame_event_t event = (frame_event_t)hal_rx.event;
    if (event == FRAME_DAMAGED) {
        hal_rx.event = FRAME_NONE;
    }
    return event;
}
