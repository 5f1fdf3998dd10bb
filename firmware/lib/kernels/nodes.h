/* Rounding and gating of what comes of a projection, for Bonsai, LDKL and the perceptron. avr_nodes.h has the
 * same for AVR. */
#ifndef NODES_H
#define NODES_H

#include "nibbles.h"
#include "tree_path.h"

#ifdef __AVR__
#include "avr_nodes.h"
#else

typedef int32_t wide_t;

static inline wide_t rounded_sum(sum_t sum, uint8_t shift)
{
    return shifted(sum, shift);
}

static inline node_t rounded_node(node_t sum, uint8_t shift)
{
    return shifted(sum, shift);
}

static inline int8_t clipped(wide_t value)
{
    return clip_unit(value);
}

static inline int32_t gated(int16_t predicted, int8_t gate)
{
    return (int32_t)predicted * gate;
}

#endif

#endif
