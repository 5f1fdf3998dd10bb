/* Speed is a matter of the kernels; what is between them and the host should be small. */
#pragma GCC optimize("Os")

#include "reply.h"

#include "frame.h"
#include "hal.h"

reply_t reply;

uint16_t get16(const uint8_t *from)
{
    return (uint16_t)(from[0] | (uint16_t)from[1] << 8);
}

void put16(uint8_t *to, uint16_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
}

void put32(uint8_t *to, uint32_t value)
{
    put16(to, (uint16_t)value);
    put16(to + 2, (uint16_t)(value >> 16));
}

static void put_error(uint8_t *payload, uint8_t code, uint16_t detail)
{
    payload[LINK_AT_ERROR_CODE] = code;
    put16(payload + LINK_AT_ERROR_DETAIL, detail);
}

void answer(uint8_t kind, uint8_t length)
{
    reply.kind = kind;
    reply.length = length;
}

void refuse(uint8_t code, uint16_t detail)
{
    put_error(reply.payload, code, detail);
    answer(LINK_KIND_ERROR, LINK_SIZE_ERROR);
}

void send_reply(uint8_t seq)
{
    frame_send(hal_put, reply.kind, seq, reply.payload, reply.length);
}

void complain(uint8_t seq, uint8_t code, uint16_t detail)
{
    /* In the receive buffer, which is free: a complaint must not need a deeper stack than a reply, or the
     * deepest would be the line's doing. */
    uint8_t *payload = hal_rx.bytes;
    put_error(payload, code, detail);
    frame_send(hal_put, LINK_KIND_ERROR, seq, payload, LINK_SIZE_ERROR);
}
