/* Trees as straight-line code for AVR (models/tree_code.py). Whole vectors only on AVR, whose caller is in
 * avr_tree_code.h. Another processor reads the trees out of the instructions. */
#ifndef TREE_CODE_H
#define TREE_CODE_H

/* The register of the first tally. The last vote is counted in r23; sums end with r21. */
#ifdef MODEL_BOOSTED
#define FIRST_TALLY (22 - MODEL_TALLIES * MODEL_TALLY_BYTES)
#else
#define FIRST_TALLY (24 - MODEL_TALLIES)
#endif

#ifdef __AVR__
#include "avr_tree_code.h"
#else

#include <stdbool.h>
#include <string.h>

/* The immediate of cpi, subi, sbci and ldi. */
static inline uint8_t immediate_of(uint16_t word)
{
    return (uint8_t)((word >> 4 & 0xF0u) | (word & 0x0Fu));
}

static inline int16_t immediates_of(const uint16_t *words)
{
    return (int16_t)(uint16_t)(immediate_of(words[0]) | immediate_of(words[1]) << 8);
}

static inline bool names_high_byte(uint16_t load)
{
    return (load & 0x01F0u) == 0x0190u; /* r25 */
}

/* Whether the feature that is asked for is at or above its bound; *code moves on to the branch. */
static bool is_high(const uint16_t **code, const feature_t *x)
{
    const uint16_t *at = *code;
    uint32_t byte;
    if (*at == 0x01DE) { /* movw r26, r28: by X, further on than ldd reaches */
        byte = (uint16_t)(MODEL_CODE_Y - (uint16_t)immediates_of(at + 1));
        at += 3;
    } else { /* ldd by Y or Z */
        byte = ((*at & 8u) ? MODEL_CODE_Y : MODEL_CODE_Z) +
               ((*at >> 8 & 0x20u) | (*at >> 7 & 0x18u) | (*at & 0x07u));
    }
    const int32_t value = x[byte / sizeof *x];
    int32_t bound;
    if (sizeof *x == 1) {
        bound = (int8_t)immediate_of(at[1]);
        *code = at + 2;
    } else if (names_high_byte(*at)) { /* of a bound whose low byte is zero */
        bound = 256 * (int8_t)immediate_of(at[1]);
        *code = at + 2;
    } else {
        bound = immediates_of(at + 2);
        *code = at + 4;
    }
    return value >= bound;
}

/* The side that a branch leads to. */
static const uint16_t *side_of(const uint16_t *branch, bool high)
{
    const bool taken = ((*branch & 0x0400u) != 0) == high; /* brge, else brlt */
    if (taken) {
        return branch + 1 + (*branch >> 3 & 0x7Fu) - (*branch >> 2 & 0x80u);
    }
    if ((branch[1] & 0xF000u) == 0xC000u) { /* past which the branch would have led */
        return branch + 2 + (branch[1] & 0x0FFFu);
    }
    return branch + 1;
}

static inline bool is_leaf(uint16_t word)
{
#ifdef MODEL_BOOSTED
    return (word & 0xF0F0u) == 0xE080u; /* ldi r24 */
#else
    return (word & 0xFE0Fu) == 0x9403u; /* inc */
#endif
}

static void walk_trees(const feature_t *x)
{
    const uint16_t *code = model_code;
    memset(tally, 0, sizeof tally);
    for (uint16_t t = 0; t < MODEL_TREES; t++) {
        while (!is_leaf(*code)) {
            const bool high = is_high(&code, x);
            code = side_of(code, high);
        }
#ifdef MODEL_BOOSTED
        tally[t % MODEL_TALLIES] += immediates_of(code);
        code += 2;
#else
        tally[(*code >> 4 & 0x1Fu) - FIRST_TALLY]++;
        code++;
#endif
        if ((*code & 0xF000u) == 0xC000u) { /* rjmp to the end of the tree */
            code += 1 + (*code & 0x0FFFu);
        }
#ifdef MODEL_BOOSTED
        code += MODEL_TALLY_BYTES == 2 ? 2 : 7; /* where the value is added */
#endif
    }
}

#endif

#endif
