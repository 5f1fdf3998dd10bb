/* The firmware as a program: the link is standard input and output, the cycle counter a clock of nanoseconds.
 * With it the protocol is tested under sanitizers and on a bad line, without a simulator. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "hal.h"

frame_rx_t hal_rx;

static uint8_t outgoing[512];
static size_t waiting;
static uint64_t opened;

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void flush(void)
{
    for (size_t sent = 0; sent < waiting;) {
        ssize_t n = write(STDOUT_FILENO, outgoing + sent, waiting - sent);
        if (n <= 0) {
            exit(1);
        }
        sent += (size_t)n;
    }
    waiting = 0;
}

void hal_start(void)
{
    frame_release(&hal_rx);
}

/* Byte by byte: what follows a kept frame must stay on the line until it is released. */
frame_event_t hal_wait(void)
{
    flush();
    while (hal_rx.event == FRAME_NONE) {
        uint8_t byte;
        if (read(STDIN_FILENO, &byte, 1) <= 0) {
            exit(0);
        }
        frame_receive(&hal_rx, byte);
    }
    frame_event_t event = (frame_event_t)hal_rx.event;
    if (event == FRAME_DAMAGED) {
        hal_rx.event = FRAME_NONE;
    }
    return event;
}

void hal_put(uint8_t byte)
{
    outgoing[waiting++] = byte;
    if (waiting == sizeof outgoing) {
        flush();
    }
}

void hal_window_open(void)
{
    opened = nanoseconds();
}

uint32_t hal_window_close(void)
{
    return (uint32_t)(nanoseconds() - opened);
}
