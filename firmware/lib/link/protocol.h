/* The link's constants and payload layouts.
 * Written by `python -m harness.link.header` from harness/link/messages.py, which explains them. */
#ifndef LINK_PROTOCOL_H
#define LINK_PROTOCOL_H

#define LINK_PROTOCOL_VERSION 0x1u
#define LINK_FLAG 0x7eu
#define LINK_ESCAPE 0x7du
#define LINK_ESCAPE_XOR 0x20u
#define LINK_CRC_START 0xffffu
#define LINK_HASH_BYTES 0x8u
#define LINK_NAME_BYTES 0x18u
#define LINK_MAX_REPLY 0x58u
#define LINK_SCORES_PER_REPLY 0x10u

/* What a frame is. Replies are the request's kind with the top bit set. */
enum {
    LINK_KIND_HELLO = 0x01,
    LINK_KIND_FEATURES = 0x02,
    LINK_KIND_PREDICT = 0x03,
    LINK_KIND_SCORES = 0x04,
    LINK_KIND_REPEAT = 0x05,
    LINK_KIND_PING = 0x06,
    LINK_KIND_HELLO_REPLY = 0x81,
    LINK_KIND_FEATURES_REPLY = 0x82,
    LINK_KIND_PREDICT_REPLY = 0x83,
    LINK_KIND_SCORES_REPLY = 0x84,
    LINK_KIND_REPEAT_REPLY = 0x85,
    LINK_KIND_PING_REPLY = 0x86,
    LINK_KIND_READY = 0xc0,
    LINK_KIND_ERROR = 0xff,
};

/* Why a request was refused; `detail` in the ERROR reply is what the comment says. */
enum {
    LINK_ERROR_DAMAGED = 0x01,
    LINK_ERROR_TOO_LONG = 0x02,
    LINK_ERROR_BAD_KIND = 0x03,
    LINK_ERROR_BAD_LENGTH = 0x04,
    LINK_ERROR_BAD_SEQUENCE = 0x05,
    LINK_ERROR_BAD_OFFSET = 0x06,
    LINK_ERROR_TOO_MANY = 0x07,
    LINK_ERROR_INCOMPLETE = 0x08,
    LINK_ERROR_NO_RESULT = 0x09,
    LINK_ERROR_NOT_BUFFERED = 0x0a,
    LINK_ERROR_BAD_COUNT = 0x0b,
};

/* The number format of the features on the wire, and so of the firmware. */
enum {
    LINK_NUMBERS_INT8 = 0x01,
    LINK_NUMBERS_INT16 = 0x02,
    LINK_NUMBERS_FLOAT32 = 0x03,
};

/* Enum where members are also (and must be) ints */
enum {
    LINK_HELLO_FLAG_BUFFERED = 0x01,
};

/* Where the fields of hello begin, and how long they are together. */
enum {
    LINK_AT_HELLO_VERSION = 0,
    LINK_AT_HELLO_NUMBERS = 1,
    LINK_AT_HELLO_FLAGS = 2,
    LINK_AT_HELLO_CLOCK_HZ = 3,
    LINK_AT_HELLO_FEATURES = 7,
    LINK_AT_HELLO_CLASSES = 9,
    LINK_AT_HELLO_SCORES = 11,
    LINK_AT_HELLO_CHUNK_BYTES = 13,
    LINK_AT_HELLO_BUFFER_BYTES = 15,
    LINK_AT_HELLO_MODEL_HASH = 17,
    LINK_AT_HELLO_BOARD = 25,
    LINK_AT_HELLO_MODEL = 49,
    LINK_SIZE_HELLO = 73,
};

/* Where the fields of features begin, and how long they are together. */
enum {
    LINK_AT_FEATURES_OFFSET = 0,
    LINK_SIZE_FEATURES = 2,
};

/* Where the fields of features_reply begin, and how long they are together. */
enum {
    LINK_AT_FEATURES_REPLY_NEXT = 0,
    LINK_SIZE_FEATURES_REPLY = 2,
};

/* Where the fields of predict_reply begin, and how long they are together. */
enum {
    LINK_AT_PREDICT_REPLY_CLASS = 0,
    LINK_AT_PREDICT_REPLY_CYCLES = 2,
    LINK_SIZE_PREDICT_REPLY = 6,
};

/* Where the fields of scores begin, and how long they are together. */
enum {
    LINK_AT_SCORES_FIRST = 0,
    LINK_SIZE_SCORES = 2,
};

/* Where the fields of scores_reply begin, and how long they are together. */
enum {
    LINK_AT_SCORES_REPLY_FIRST = 0,
    LINK_SIZE_SCORES_REPLY = 2,
};

/* Where the fields of repeat begin, and how long they are together. */
enum {
    LINK_AT_REPEAT_COUNT = 0,
    LINK_SIZE_REPEAT = 2,
};

/* Where the fields of repeat_reply begin, and how long they are together. */
enum {
    LINK_AT_REPEAT_REPLY_CLASS = 0,
    LINK_AT_REPEAT_REPLY_CYCLES = 2,
    LINK_SIZE_REPEAT_REPLY = 6,
};

/* Where the fields of error begin, and how long they are together. */
enum {
    LINK_AT_ERROR_CODE = 0,
    LINK_AT_ERROR_DETAIL = 1,
    LINK_SIZE_ERROR = 3,
};

#endif
