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

/* Whether the receive interrupt may interrupt. */
static void listen(bool on)
{
    UCSRB = (uint8_t)(1 << RXEN_BIT | 1 << TXEN_BIT | on << RXCIE_BIT);
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
    listen(false);

    set_sleep_mode(SLEEP_MODE_IDLE); /* deeper modes stop the UART's clock */
    sleep_enable();
    sei();
}

/* Bytes are taken only while nothing else is done. The host is silent at other times, so what comes then is
 * noise or a request that is asked again; its interrupts would lengthen a window, and deepen the stack by
 * their own at whatever depth they hit. Two bytes of it wait in the receiver's FIFO and are dropped here. The
 * host's next byte cannot be among them: it waits for a reply's end, and two bytes of that are still to be
 * sent when hal_put has taken the last one. */
frame_event_t hal_wait(void)
{
    while (UCSRA & 1 << RXC_BIT) {
        (void)UDR;
    }
    cli(); /* so that only the sleep is interrupted */
    listen(true);
    while (hal_rx.event == FRAME_NONE) {
        /* The instruction after sei always runs before an interrupt: no byte can slip in between the look at
         * the event and the sleep. */
        sei();
        sleep_cpu();
        cli();
    }
    listen(false);
    sei();
    frame_event_t event = (frame_event_t)hal_rx.event;
    if (event == FRAME_DAMAGED) {
        frame_release(&hal_rx); /* what still comes of it has a hole by then */
    }
    return event;
}

void hal_put(uint8_t byte)
{
    while (!(UCSRA & 1 << UDRE_BIT)) {
    }
    UDR = byte;
}
