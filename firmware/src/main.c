/* Receive features, predict, reply. Names no model and no board: model.h, kernel.h and hal.h do.
 *
 * Requests are answered one at a time, in the order of their numbers. The last reply is kept: a repeated
 * number means that it was lost on the way, and gets it again without anything being done twice. */
/* Speed is a matter of the kernels; what is between them and the host should be small. */
#pragma GCC optimize("Os")

#include <stdbool.h>
#include <string.h>

#include "flash.h"
#include "frame.h"
#include "hal.h"
#include "kernel.h"
#include "reply.h"

#if MODEL_NUMBERS == MODEL_FLOAT32
#define FEATURE_BYTES 4
#elif MODEL_NUMBERS == MODEL_INT16
#define FEATURE_BYTES 2
#else
#define FEATURE_BYTES 1
#endif

/* Buffered: the whole vector is kept and a prediction is one window. Streaming: each piece is folded in as it
 * comes. Pieces of bytes are folded in where they have been received; others might not be aligned there, and
 * are copied. */
#ifndef STREAMING
#define STREAMING (MODEL_FEATURES * FEATURE_BYTES > HAL_VECTOR_BYTES)
#endif
#define IN_PLACE (STREAMING && FEATURE_BYTES == 1)

enum {
    CHUNK_FEATURES = FRAME_CHUNK / FEATURE_BYTES,
    BUFFER_FEATURES = STREAMING ? CHUNK_FEATURES : MODEL_FEATURES,
    KEPT_FEATURES = IN_PLACE ? 0 : BUFFER_FEATURES, /* GNU C has arrays of no elements */
};

_Static_assert(sizeof(feature_t) == FEATURE_BYTES, "features are sent as the kernel takes them");
_Static_assert(sizeof(score_t) == 4, "scores are sent as 4 bytes");

static const char name_of_board[] FLASH = HAL_BOARD;
static const char name_of_model[] FLASH = MODEL_NAME;
static const uint8_t digest_of_model[LINK_HASH_BYTES] FLASH = MODEL_HASH;

static struct {
    bool greeted; /* until HELLO no number is the next one */
    uint8_t seq;  /* of the last request that was answered */
} session;

static struct {
    feature_t features[KEPT_FEATURES];
    uint16_t received;
    uint32_t cycles; /* in earlier windows of this sample */
} sample;

static struct {
    score_t scores[MODEL_SCORES];
    uint16_t class_index;
    bool valid; /* there is a prediction, and its features are still here */
} result;

static void put_flash(uint8_t *to, const void *from, uint8_t length)
{
    for (uint8_t i = 0; i < length; i++) {
        to[i] = flash_u8((const uint8_t *)from + i);
    }
}

/* A name in its field, cut or filled with zeros. */
static void put_name(uint8_t *to, const char *name, size_t length)
{
    memset(to, 0, LINK_NAME_BYTES);
    put_flash(to, name, (uint8_t)(length < LINK_NAME_BYTES ? length : LINK_NAME_BYTES));
}

static void answer_hello(uint8_t kind)
{
    uint8_t *p = reply.payload;
    p[LINK_AT_HELLO_VERSION] = LINK_PROTOCOL_VERSION;
    p[LINK_AT_HELLO_NUMBERS] = MODEL_NUMBERS;
    p[LINK_AT_HELLO_FLAGS] = STREAMING ? 0 : LINK_HELLO_FLAG_BUFFERED;
    put32(p + LINK_AT_HELLO_CLOCK_HZ, F_CPU);
    put16(p + LINK_AT_HELLO_FEATURES, MODEL_FEATURES);
    put16(p + LINK_AT_HELLO_CLASSES, MODEL_CLASSES);
    put16(p + LINK_AT_HELLO_SCORES, MODEL_SCORES);
    put16(p + LINK_AT_HELLO_CHUNK_BYTES, FRAME_CHUNK);
    put16(p + LINK_AT_HELLO_BUFFER_BYTES, BUFFER_FEATURES * FEATURE_BYTES);
    put_flash(p + LINK_AT_HELLO_MODEL_HASH, digest_of_model, LINK_HASH_BYTES);
    put_name(p + LINK_AT_HELLO_BOARD, name_of_board, sizeof name_of_board - 1);
    put_name(p + LINK_AT_HELLO_MODEL, name_of_model, sizeof name_of_model - 1);
    answer(kind, LINK_SIZE_HELLO);
}

static void answer_prediction(uint8_t kind, uint32_t cycles)
{
    _Static_assert((int)LINK_SIZE_REPEAT_REPLY == (int)LINK_SIZE_PREDICT_REPLY, "they answer alike");
    put16(reply.payload + LINK_AT_PREDICT_REPLY_CLASS, result.class_index);
    put32(reply.payload + LINK_AT_PREDICT_REPLY_CYCLES, cycles);
    answer(kind, LINK_SIZE_PREDICT_REPLY);
}

/* Features of a FEATURES or PREDICT, checked and kept; nothing is changed when they are refused. */
static bool take_features(const uint8_t *payload, uint8_t length, bool last)
{
    uint8_t bytes = length - LINK_SIZE_FEATURES;
    if (length < LINK_SIZE_FEATURES || bytes % FEATURE_BYTES != 0 || (bytes == 0 && !last)) {
        refuse(LINK_ERROR_BAD_LENGTH, length);
        return false;
    }
    uint16_t offset = get16(payload + LINK_AT_FEATURES_OFFSET);
    uint8_t count = bytes / FEATURE_BYTES;
    if (offset != 0 && offset != sample.received) {
        refuse(LINK_ERROR_BAD_OFFSET, sample.received);
        return false;
    }
    if (count > MODEL_FEATURES - offset) {
        refuse(LINK_ERROR_TOO_MANY, MODEL_FEATURES);
        return false;
    }
    if (last && offset + count < MODEL_FEATURES) {
        refuse(LINK_ERROR_INCOMPLETE, offset + count);
        return false;
    }
    if (offset == 0) {
        sample.cycles = 0;
        result.valid = false;
    }
    if (!IN_PLACE) {
        memcpy(sample.features + (STREAMING ? 0 : offset), payload + LINK_SIZE_FEATURES, bytes);
    }
    sample.received = offset + count;
    return true;
}

/* Streaming: the `count` features before `received` have just come with this payload. */
static void fold_chunk(const uint8_t *payload, uint8_t count)
{
    uint16_t first = sample.received - count;
    if (first == 0) {
        kernel_begin();
    }
    const void *features = IN_PLACE ? (const void *)(payload + LINK_SIZE_FEATURES) : sample.features;
    kernel_fold(first, features, count);
}

static void predict_kept(void)
{
    kernel_begin();
    kernel_fold(0, sample.features, MODEL_FEATURES);
    result.class_index = kernel_finish(result.scores);
}

static void on_features(const uint8_t *payload, uint8_t length)
{
    if (!take_features(payload, length, false)) {
        return;
    }
    if (STREAMING) {
        hal_window_open();
        fold_chunk(payload, (length - LINK_SIZE_FEATURES) / FEATURE_BYTES);
        sample.cycles += hal_window_close();
    }
    put16(reply.payload + LINK_AT_FEATURES_REPLY_NEXT, sample.received);
    answer(LINK_KIND_FEATURES_REPLY, LINK_SIZE_FEATURES_REPLY);
}

static void on_predict(const uint8_t *payload, uint8_t length)
{
    if (!take_features(payload, length, true)) {
        return;
    }
    uint8_t count = (length - LINK_SIZE_FEATURES) / FEATURE_BYTES;
    hal_window_open();
    if (STREAMING) {
        if (count > 0) {
            fold_chunk(payload, count);
        }
        result.class_index = kernel_finish(result.scores);
    } else {
        predict_kept();
    }
    sample.cycles += hal_window_close();
    result.valid = true;
    sample.received = 0; /* the sample is complete; the next begins at offset 0 */
    answer_prediction(LINK_KIND_PREDICT_REPLY, sample.cycles);
}

static void on_scores(const uint8_t *payload, uint8_t length)
{
    if (length != LINK_SIZE_SCORES) {
        refuse(LINK_ERROR_BAD_LENGTH, length);
        return;
    }
    if (!result.valid) {
        refuse(LINK_ERROR_NO_RESULT, 0);
        return;
    }
    uint16_t first = get16(payload + LINK_AT_SCORES_FIRST);
    if (first >= MODEL_SCORES) {
        refuse(LINK_ERROR_BAD_COUNT, first);
        return;
    }
    uint16_t left = MODEL_SCORES - first;
    uint8_t count = (uint8_t)(left < LINK_SCORES_PER_REPLY ? left : LINK_SCORES_PER_REPLY);
    put16(reply.payload + LINK_AT_SCORES_REPLY_FIRST, first);
    for (uint8_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &result.scores[first + i], sizeof bits);
        put32(reply.payload + LINK_SIZE_SCORES_REPLY + 4 * i, bits);
    }
    answer(LINK_KIND_SCORES_REPLY, (uint8_t)(LINK_SIZE_SCORES_REPLY + 4 * count));
}

static void on_repeat(const uint8_t *payload, uint8_t length)
{
    if (length != LINK_SIZE_REPEAT) {
        refuse(LINK_ERROR_BAD_LENGTH, length);
        return;
    }
    if (STREAMING) {
        refuse(LINK_ERROR_NOT_BUFFERED, 0);
        return;
    }
    if (!result.valid) {
        refuse(LINK_ERROR_NO_RESULT, 0);
        return;
    }
    uint16_t count = get16(payload + LINK_AT_REPEAT_COUNT);
    if (count == 0) {
        refuse(LINK_ERROR_BAD_COUNT, count);
        return;
    }
    hal_window_open();
    for (uint16_t i = 0; i < count; i++) {
        predict_kept();
    }
    answer_prediction(LINK_KIND_REPEAT_REPLY, hal_window_close());
}

static void on_ping(const uint8_t *payload, uint8_t length)
{
    if (length > LINK_MAX_REPLY) {
        refuse(LINK_ERROR_BAD_LENGTH, length);
        return;
    }
    memcpy(reply.payload, payload, length);
    answer(LINK_KIND_PING_REPLY, length);
}

/* A HELLO may carry anything: hosts of other versions must learn this one's too. */
static void on_hello(void)
{
    session.greeted = true;
    sample.received = 0;
    result.valid = false;
    answer_hello(LINK_KIND_HELLO_REPLY);
}

static void on_request(uint8_t kind, const uint8_t *payload, uint8_t length)
{
    switch (kind) {
    case LINK_KIND_HELLO:
        on_hello();
        break;
    case LINK_KIND_FEATURES:
        on_features(payload, length);
        break;
    case LINK_KIND_PREDICT:
        on_predict(payload, length);
        break;
    case LINK_KIND_SCORES:
        on_scores(payload, length);
        break;
    case LINK_KIND_REPEAT:
        on_repeat(payload, length);
        break;
    case LINK_KIND_PING:
        on_ping(payload, length);
        break;
    default:
        refuse(LINK_ERROR_BAD_KIND, kind);
    }
}

static void on_frame(bool whole)
{
    uint8_t kind = frame_kind(&hal_rx);
    uint8_t seq = frame_seq(&hal_rx);
    uint8_t next = session.greeted ? session.seq + 1 : 0;
    bool again = session.greeted && seq == session.seq && kind != LINK_KIND_HELLO;
    bool in_turn = kind == LINK_KIND_HELLO || (session.greeted && seq == next);
    if (in_turn) {
        session.seq = seq;
        if (whole) {
            on_request(kind, frame_payload(&hal_rx), frame_payload_length(&hal_rx));
        } else {
            refuse(LINK_ERROR_TOO_LONG, FRAME_PAYLOAD);
        }
    }
    frame_release(&hal_rx); /* before the reply: the host may speak as soon as it has it */
    if (in_turn || again) {
        send_reply(session.seq);
    } else {
        complain(seq, LINK_ERROR_BAD_SEQUENCE, next);
    }
}

int main(void)
{
    hal_start();
    answer_hello(LINK_KIND_READY);
    send_reply(session.seq);
    for (;;) {
        frame_event_t event = hal_wait();
        if (event == FRAME_DAMAGED) {
            complain(session.seq, LINK_ERROR_DAMAGED, 0);
        } else {
            on_frame(event == FRAME_GOOD);
        }
    }
}
