/* The USART of the classic AVRs, to the cycle.
 *
 * simavr's own model counts a parity bit that is not there, buffers 64 bytes where the chip holds two, sends without
 * a second buffer and sleeps on the host while firmware polls. Only its table of registers and vectors is used here;
 * behaviour follows the "USART" chapter of the ATmega48A-328P data sheet. */
#ifndef AVRBOARD_USART_H
#define AVRBOARD_USART_H

#include <stdbool.h>
#include <stdint.h>

#include <simavr/avr_uart.h>
#include <simavr/sim_avr.h>

#include "bytes.h"

enum { USART_FIFO = 2 };

struct usart {
    avr_t *avr;
    avr_uart_t *registers;
    uint32_t host_baud; /* 0: whatever the device is set to */
    uint64_t overruns;

    struct bytes line; /* written by the host, not yet received; the first byte is on the wire while receiving */
    bool receiving;
    uint16_t fifo[USART_FIFO]; /* the byte, with FRAME_ERROR */
    unsigned held;
    bool shift_full; /* a third byte, complete, waits in the shift register until the next start bit */
    uint16_t shift;

    struct bytes arrived; /* at the host */
    bool sending, buffered;
    uint8_t sent_byte, buffered_byte;
};

/* False when the chip has no UART of that name. */
bool usart_attach(struct usart *usart, avr_t *avr, char name);

/* The host sends bytes; the first goes on the wire now, or when those before it are through. */
void usart_write(struct usart *usart, const uint8_t *data, size_t count);

/* Bytes that have not reached the receiver yet are gone, as when the chip is held in reset. */
void usart_drop_line(struct usart *usart);

/* Interrupt requests follow the flags. RXC and UDRE ask for as long as they stand, so this is called after every
 * interrupt entry too, where simavr forgets the request. */
void usart_refresh(struct usart *usart);

#endif
