/* The link's UART, its receive interrupt, and sleep between bytes. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <avr/wdt.h>

#include "hal.h"
#include "uart.h"
#include "window.h"

#define UBRR_VALUE (F_CPU / 8 / HAL_BAUD - 1)
_Static_assert(F_CPU % (8 * HAL_BAUD) == 0, "the baud rate must divide the clock");

/* First in RAM, which begins with a page of 256 bytes: a frame within one page lets kernels step through its
 * features with 8-bit additions. With -fdata-sections only what asks for plain .bss lies there. */
frame_rx_t hal_rx __attribute__((section(".bss")));

/* 1 Mbaud at 16 MHz leaves 160 cycles a byte, and the receiver's FIFO holds two. An ordinary byte takes
 * 106, entry and return included (ATmega2560: 114, as it saves RAMPZ too); waking up and going back to
 * sleep take 12. */
ISR(RX_VECTOR)
{
    frame_receive(&hal_rx, UDR);
}

void hal_start(void)
{
    /* Some bootloaders start the program through the watchdog and leave it running. */
    MCUSR = 0;
    wdt_disable();
#if defined(USBCON)
    /* The ATmega32U4's bootloader leaves its USB interrupts enabled, and nothing here would serve them. */
    UDIEN = 0;
    USBCON = 1 << FRZCLK;
#endif
    frame_release(&hal_rx);
    hal_window_start();

    UCSRA = 1 << U2X_BIT;
    UBRR = UBRR_VALUE;
    UCSRC = UCSZ_8; /* 8 data bits, no parity, one stop bit */
    hal_uart_listen(true);

    set_sleep_mode(SLEEP_MODE_IDLE); /* deeper modes stop the UART's clock */
    sleep_enable();
    sei();
}

frame_event_t hal_wait(void)
{
    cli();
    while (hal_rx.event == FRAME_NONE) {
        /* The instruction after sei always runs before an interrupt: no byte can slip in between the look at
         * the event and the sleep. */
        sei();
        sleep_cpu();
        cli();
    }
    frame_event_t event = (frame_event_t)hal_rx.event;
    if (event == FRAME_DAMAGED) {
        hal_rx.event = FRAME_NONE;
    }
    sei();
    return event;
}

void hal_put(uint8_t byte)
{
    while (!(UCSRA & 1 << UDRE_BIT)) {
    }
    UDR = byte;
}
