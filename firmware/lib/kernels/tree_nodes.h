/* Trees as bytes in flash (models/tree_nodes.py), first the root:
 *
 *     inner node   feature, threshold, skip     x[feature] <= threshold: the next byte, else `skip` further
 *     leaf         255 - class                  a vote for that class
 *                  255, value                   a value for a score (boosted trees)
 *
 * Thresholds are as wide as features; thresholds, skips and values are little-endian. Where model_kept lists
 * features, nodes name places in that list. avr_trees.h has the same for AVR. */
#ifndef TREE_NODES_H
#define TREE_NODES_H

#ifdef MODEL_BOOSTED
#define FIRST_LEAF 255
#else
#define FIRST_LEAF (256 - MODEL_CLASSES)
#endif

/* Features are found by the list where the vector is walked on, else they lie in its order. */
#if WHOLE_VECTORS && defined(MODEL_KEPT)
#define LISTED 1
#else
#define LISTED 0
#endif

#if defined(__AVR__) && (defined(MODEL_BOOSTED) || MODEL_TALLY_BYTES == 1)
#include "avr_trees.h"
#else

#include <string.h>

static inline uint16_t u16_at(const uint8_t *node)
{
    return (uint16_t)(flash_u8(node) | (uint16_t)flash_u8(node + 1) << 8);
}

static inline feature_t threshold_at(const uint8_t *node)
{
#if MODEL_NUMBERS == MODEL_INT8
    return (feature_t)flash_u8(node);
#else
    return (feature_t)u16_at(node);
#endif
}

static inline uint16_t skip_at(const uint8_t *node)
{
#if MODEL_SKIP_BYTES == 1
    return flash_u8(node);
#else
    return u16_at(node);
#endif
}

static inline feature_t feature_of(const feature_t *x, uint8_t name)
{
#if LISTED
    return x[flash_u16(&model_kept[name])];
#else
    return x[name];
#endif
}

/* The leaf that the features lead to. */
static const uint8_t *leaf_of(const uint8_t *node, const feature_t *x)
{
    for (;;) {
        const uint8_t name = flash_u8(node);
        if (name >= FIRST_LEAF) {
            return node;
        }
        const feature_t threshold = threshold_at(node + 1);
        node += 1 + sizeof(feature_t);
        const uint16_t skip = feature_of(x, name) <= threshold ? 0 : skip_at(node);
        node += MODEL_SKIP_BYTES + skip;
    }
}

#ifdef MODEL_BOOSTED

static inline int16_t value_at(const uint8_t *leaf)
{
#if MODEL_LEAF_BYTES == 1
    return (int8_t)flash_u8(leaf + 1);
#else
    return (int16_t)u16_at(leaf + 1);
#endif
}

#endif

static void walk_trees(const feature_t *x)
{
    memset(tally, 0, sizeof tally);
    for (uint16_t t = 0; t < MODEL_TREES; t++) {
        const uint8_t *leaf = leaf_of(&model_nodes[flash_u16(&model_starts[t])], x);
#ifdef MODEL_BOOSTED
        tally[t % MODEL_TALLIES] += value_at(leaf);
#else
        tally[255 - flash_u8(leaf)]++;
#endif
    }
}

#endif

#endif
