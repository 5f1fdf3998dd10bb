/* Speed is a matter of the kernels; what is between them and the host should be small. And no call may become
 * a jump: an escaped byte would be the only one to need room for a return address, and so the deepest stack a
 * matter of the bytes that happen to be sent. */
#pragma GCC optimize("Os", "no-optimize-sibling-calls")

#include "frame.h"

static void put_escaped(void (*put)(uint8_t), uint8_t byte)
{
    if (byte == LINK_FLAG || byte == LINK_ESCAPE) {
        put(LINK_ESCAPE);
        byte ^= LINK_ESCAPE_XOR;
    }
    put(byte);
}

void frame_send(void (*put)(uint8_t), uint8_t kind, uint8_t seq, const uint8_t *payload, uint8_t length)
{
    frame_crc_t crc = frame_crc(frame_crc(frame_crc_start(), kind), seq);
    put(LINK_FLAG);
    put_escaped(put, kind);
    put_escaped(put, seq);
    for (uint8_t i = 0; i < length; i++) {
        crc = frame_crc(crc, payload[i]);
        put_escaped(put, payload[i]);
    }
    put_escaped(put, crc.high);
    put_escaped(put, crc.low);
    put(LINK_FLAG);
}
