/* The answer to the last request, kept so that it can be sent again, and how its numbers are written. */
#ifndef REPLY_H
#define REPLY_H

#include <stdint.h>

#include "protocol.h"

typedef struct {
    uint8_t kind;
    uint8_t length;
    uint8_t payload[LINK_MAX_REPLY];
} reply_t;

extern reply_t reply;

/* Little-endian, wherever they lie. */
uint16_t get16(const uint8_t *from);
void put16(uint8_t *to, uint16_t value);
void put32(uint8_t *to, uint32_t value);

/* The payload has been filled in: this is the answer. */
void answer(uint8_t kind, uint8_t length);

/* The request is refused; that is its answer, kept like any other. */
void refuse(uint8_t code, uint16_t detail);

/* Send the kept answer. */
void send_reply(uint8_t seq);

/* Send an error about something that was no request in its turn, when no frame is kept. The kept answer
 * stays. */
void complain(uint8_t seq, uint8_t code, uint16_t detail);

#endif
