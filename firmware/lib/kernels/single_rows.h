/* Σ_j W_ij·x_j for one row i at a time, of a whole vector: for models that need a few rows of many.
 *
 * Sparse rows have to be found by the lengths of those before them; a reader goes forward only, so that each
 * length is looked at once. Sums of four-bit weights are sixteen times what they mean (nibbles.h). */
#ifndef SINGLE_ROWS_H
#define SINGLE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "dot.h"
#include "model_data.h"
#include "nibbles.h"

#if defined(MODEL_W_DENSE8) || defined(MODEL_W_DENSE4)

/* A dense row lies where its number says. */
typedef uint8_t reader_t;

static inline void reader_begin(reader_t *reader, uint16_t row, uint16_t at)
{
    (void)row;
    (void)at;
    *reader = 0;
}

static __attribute__((noinline)) sum_t row_dot(reader_t *reader, uint16_t row, const int8_t *x)
{
    (void)reader;
#if defined(MODEL_W_DENSE8)
    return dot_whole(&model_w[(size_t)row * MODEL_FEATURES], x);
#else
    return dot_packed(0, &model_w_packed[(size_t)row * PACKED_BYTES(MODEL_FEATURES)], x, MODEL_FEATURES);
#endif
}

#else

#if defined(MODEL_W_ROWS8)
#define ROWS model_w_pairs
#define STORED_BYTES 2u
#else
#define ROWS model_w_nibbles
#define STORED_BYTES 1u
#endif

typedef struct {
    const uint8_t *at; /* the row's first value */
    uint16_t row;
} reader_t;

static inline uint16_t values_of_row(uint16_t row)
{
#if MODEL_W_COUNT_BYTES == 1
    return flash_u8(&model_w_counts[row]);
#else
    return flash_u16(&model_w_counts[row]);
#endif
}

/* `at` is the byte where the row begins. */
static inline void reader_begin(reader_t *reader, uint16_t row, uint16_t at)
{
    reader->at = ROWS + at;
    reader->row = row;
}

#if defined(MODEL_W_ROWS4)

#define dot_row dot_nibble_row

#elif defined(__AVR__)

/* 14, 16 or 17 cycles a term with sums of 2, 3 or 4 bytes */
static inline sum_t dot_row(const uint8_t *pair, uint16_t count, const int8_t *x)
{
    const int8_t *at = x - 1; /* the first gap counts from the column before the first */
    sum_t sum = 0;
    uint16_t rounds = count / 8;
    uint8_t rest = count % 8, a, b, sign;
    __asm__ volatile(
        AVR_LOOP(AVR_TERM_PAIR(AVR_CARRY_X)) /* 14, 16 or 17 */
        : [sum] "+r"(sum), [rounds] "+w"(rounds), [rest] "+d"(rest), [a] "=&d"(a), [b] "=&d"(b),
          [sign] "=&r"(sign), "+x"(at), "+z"(pair)
        : [zero] "r"((uint8_t)0)
        : "r0", "memory");
    return sum;
}

#else

static inline sum_t dot_row(const uint8_t *pair, uint16_t count, const int8_t *x)
{
    sum_t sum = 0;
    for (x--; count != 0; count--) {
        x += flash_u8(pair++);
        sum += (int8_t)flash_u8(pair++) * *x;
    }
    return sum;
}

#endif

/* `row` is not before the one that was read last. */
static __attribute__((noinline)) sum_t row_dot(reader_t *reader, uint16_t row, const int8_t *x)
{
    const uint8_t *at = reader->at;
    for (uint16_t i = reader->row; i != row; i++) {
        at += STORED_BYTES * values_of_row(i);
    }
    reader->at = at;
    reader->row = row;
    return dot_row(at, values_of_row(row), x);
}

#endif

#endif
