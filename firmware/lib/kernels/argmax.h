/* The class from the scores: above zero is class 1 of two, else the first of the largest. */
#ifndef ARGMAX_H
#define ARGMAX_H

#include "kernel.h"

static inline uint16_t argmax(const score_t *scores)
{
#if MODEL_SCORES == 1
    return scores[0] > 0;
#else
    uint16_t best = 0;
    score_t most = scores[0];
    for (uint16_t c = 1; c < MODEL_SCORES; c++) {
        const score_t score = scores[c];
        if (score > most) {
            most = score;
            best = c;
        }
    }
    return best;
#endif
}

#endif
