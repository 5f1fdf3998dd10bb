/* A queue of bytes that grows as needed: the serial line towards the device, and what came back from it. */
#ifndef AVRBOARD_BYTES_H
#define AVRBOARD_BYTES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    uint8_t *data;
    size_t first, end, room;
};

static inline size_t bytes_count(const struct bytes *q)
{
    return q->end - q->first;
}

static inline void bytes_clear(struct bytes *q)
{
    q->first = q->end = 0;
}

static inline void bytes_append(struct bytes *q, const void *data, size_t count)
{
    if (q->first == q->end)
        bytes_clear(q);
    if (q->end + count > q->room) {
        q->room = 2 * (q->end + count) + 256;
        q->data = realloc(q->data, q->room);
        if (!q->data) {
            fputs("out of memory\n", stderr);
            exit(1);
        }
    }
    if (count)
        memcpy(q->data + q->end, data, count);
    q->end += count;
}

static inline uint8_t bytes_take(struct bytes *q)
{
    return q->data[q->first++];
}

#endif
