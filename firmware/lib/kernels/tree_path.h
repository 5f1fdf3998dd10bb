/* What the trees of Bonsai and LDKL share: the way down, and the rounding of a node's sums. */
#ifndef TREE_PATH_H
#define TREE_PATH_H

#include <stdint.h>

/* Nodes are numbered as in a heap. */
static inline uint16_t child(uint16_t node, uint8_t right)
{
    return (uint16_t)(2 * node + 1 + right);
}

/* value / 2^shift to the nearest integer, halves up. The exporter has proven that adding the half fits. */
static inline int32_t shifted(int32_t value, uint8_t shift)
{
    return shift == 0 ? value : (value + ((int32_t)1 << (shift - 1))) >> shift;
}

/* 127 is 1: where z saturates, and where tanh is taken to be flat. */
static inline int8_t clip_unit(int32_t value)
{
    return (int8_t)(value > 127 ? 127 : value < -127 ? -127 : value);
}

#endif
