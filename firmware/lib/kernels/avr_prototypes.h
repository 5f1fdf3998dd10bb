/* ProtoNN's distances and similarities for AVR: the same integers as the C in protonn.c.
 *
 * Whole stages rather than inner loops, because prototypes have few dimensions: what a compiler does between
 * two of them costs as much as three or four terms. A prototype that lies LIMIT or more beyond the nearest one
 * has no similarity left, so that its distance need not be known: summing stops once it exceeds the least
 * distance so far by LIMIT, and only the others are listed. Distances have 24 bits. */
#ifndef AVR_PROTOTYPES_H
#define AVR_PROTOTYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "arithmetic.h"

/* From here on nothing is left of a similarity. */
#define LIMIT ((distance_t)128 << MODEL_EXP_SHIFT)

/* The list has a place for every prototype where RAM is no matter. Where it has not, it is weeded out when it
 * is full, and if that makes no room, all distances are measured again once the least one is known. */
#if WHOLE_VECTORS || MODEL_SCORES > 1
#define LIST_BYTES 384
#else
/* With z and what folding remembers, 128 bytes for a model of few dimensions. */
#define LIST_BYTES (MODEL_W_ROWS < 32 ? 124 - MODEL_W_ROWS : 92)
#endif

/* A place in the list: the prototype's number, then its distance; once weighed, a number of two bytes and a
 * similarity. Where there is just room for distances, all are listed, which tells the numbers. */
#if LIST_BYTES < 384 && MODEL_PROTOTYPES * 4 > LIST_BYTES && MODEL_PROTOTYPES * 3 <= LIST_BYTES
#define LIST_ALL 1
#define NUMBER_BYTES 0
#define AVR_STORE_NUMBER ""
#define AVR_LOAD_NUMBER "    inc   r16                \n" /* 1 */
#define AVR_NEXT_NUMBER ""
#elif MODEL_PROTOTYPES <= 256
#define LIST_ALL 0
#define NUMBER_BYTES 1
#define AVR_STORE_NUMBER "    st    X+, r18            \n" /* 2 */
#define AVR_LOAD_NUMBER "    ld    r16, X+            \n"  /* 2 */
#define AVR_NEXT_NUMBER "    inc   r18                \n"  /* 1 */
#else
#define LIST_ALL 0
#define NUMBER_BYTES 2
#define AVR_STORE_NUMBER                      \
    "    st    X+, r18            \n" /* 2 */ \
    "    st    X+, r19            \n" /* 2 */
#define AVR_LOAD_NUMBER                       \
    "    ld    r16, X+            \n" /* 2 */ \
    "    ld    r17, X+            \n" /* 2 */
#define AVR_NEXT_NUMBER                       \
    "    subi  r18, 0xff          \n" /* 1 */ \
    "    sbci  r19, 0xff          \n" /* 1 */
#endif
#define PLACE_BYTES (NUMBER_BYTES + 3)
#define PLACES (MODEL_PROTOTYPES * PLACE_BYTES <= LIST_BYTES ? MODEL_PROTOTYPES : LIST_BYTES / PLACE_BYTES)

/* The sums of the projection are not needed any more when prototypes are listed. */
static union {
    sum_t sums[MODEL_W_ROWS];
    uint8_t list[PLACES * PLACE_BYTES];
} work;

static int8_t z[MODEL_W_ROWS];

/* How far the prototypes have been measured. */
typedef struct {
    const int8_t *next;
    uint16_t number;
    uint8_t *end;     /* of the list */
    distance_t bound; /* LIMIT beyond the least distance so far */
} measuring_t;

#include "avr_measure.h"
#include "avr_weigh.h"

static inline bool all_measured(const measuring_t *state)
{
    return state->next == model_b + sizeof model_b;
}

/* From the first prototype on, with an empty list. */
static inline void start(measuring_t *state)
{
    state->next = model_b;
    state->number = 0;
    state->end = work.list;
}

static inline void score_list(int32_t *scores, const measuring_t *state)
{
    const uint8_t *end = weigh(state->end, state->bound - LIMIT);
    if (end != work.list) {
        add_scores(scores, end);
    }
}

#if MODEL_PROTOTYPES * PLACE_BYTES > LIST_BYTES

/* Drop what has become far since it was listed. Seldom needed: it is to be small. */
static __attribute__((noinline, optimize("Os"))) void weed_out(measuring_t *state)
{
    uint8_t *to = work.list;
    for (const uint8_t *from = work.list; from != state->end; from += PLACE_BYTES) {
        distance_t distance;
        __builtin_memcpy(&distance, from + NUMBER_BYTES, sizeof distance);
        if (distance < state->bound) {
            __builtin_memmove(to, from, PLACE_BYTES);
            to += PLACE_BYTES;
        }
    }
    state->end = to;
}

/* Gives whether everything near is in the list; if not, the bound is final all the same. */
static inline bool list_near(measuring_t *state)
{
    bool all = true;
    for (;;) {
        measure(state);
        if (all_measured(state)) {
            return all;
        }
        weed_out(state);
        if (state->end == work.list + sizeof work.list) {
            all = false;
            state->end = work.list;
        }
    }
}

#else

static inline bool list_near(measuring_t *state)
{
    measure(state);
    return true;
}

#endif

static inline void score_prototypes(int32_t *scores)
{
    for (uint16_t c = 0; c < MODEL_SCORES; c++) {
        scores[c] = 0;
    }
    measuring_t state = {.bound = (distance_t)-1};
    start(&state);
    if (!list_near(&state)) {
        /* More are near than the list has places for: with the final bound, a list after the other. */
        start(&state);
        for (measure(&state); !all_measured(&state); measure(&state)) {
            score_list(scores, &state);
            state.end = work.list;
        }
    }
    score_list(scores, &state);
}

#endif
