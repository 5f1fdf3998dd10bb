/* Decision trees, forests and boosted trees in integers.
 *
 *     inner node   feature, threshold, skip     x[feature] <= threshold: the next byte, else `skip` further
 *     leaf         255 - class                  a vote for that class
 *                  255, value                   a value for a score (boosted trees)
 *
 *     votes:    score_c = trees that vote for class c; with two classes votes for 1 - votes for 0
 *     boosted:  score_s = base_s + the values of the trees s, s + SCORES, s + 2·SCORES, …
 *
 * Thresholds are as wide as features; thresholds, skips and values are little-endian. Of the features only
 * those that nodes speak of are kept (MODEL_KEPT), in the order of model_kept. */
#include "kernel.h"

#if defined(MODEL_FAMILY_TREES)

#include "argmax.h"
#include "model_data.h"

#ifdef MODEL_BOOSTED
#define FIRST_LEAF 255u
#else
#define FIRST_LEAF (256u - MODEL_CLASSES)
#endif

static feature_t kept[MODEL_SLOTS];

#ifdef MODEL_KEPT

/* The first slot whose feature has not come yet. */
static uint16_t next_slot;

void kernel_begin(void)
{
    next_slot = 0;
}

void kernel_fold(uint16_t first, const feature_t *x, uint16_t count)
{
    while (next_slot < MODEL_SLOTS) {
        const uint16_t at = (uint16_t)(flash_u16(&model_kept[next_slot]) - first);
        if (at >= count) {
            break;
        }
        kept[next_slot++] = x[at];
    }
}

#else

void kernel_begin(void)
{
}

void kernel_fold(uint16_t first, const feature_t *x, uint16_t count)
{
    for (uint16_t i = 0; i < count; i++) {
        kept[first + i] = x[i];
    }
}

#endif

static inline feature_t threshold_at(const uint8_t *node)
{
#if MODEL_NUMBERS == MODEL_INT8
    return (feature_t)flash_u8(node);
#else
    return (feature_t)(uint16_t)(flash_u8(node) | (uint16_t)flash_u8(node + 1) << 8);
#endif
}

static inline uint16_t skip_at(const uint8_t *node)
{
#if MODEL_SKIP_BYTES == 1
    return flash_u8(node);
#else
    return (uint16_t)(flash_u8(node) | (uint16_t)flash_u8(node + 1) << 8);
#endif
}

/* The leaf that the kept features lead to. */
static const uint8_t *leaf_of(const uint8_t *node)
{
    for (;;) {
        const uint8_t feature = flash_u8(node);
        if (feature >= FIRST_LEAF) {
            return node;
        }
        const feature_t threshold = threshold_at(node + 1);
        node += 1 + sizeof(feature_t);
        const uint16_t skip = kept[feature] <= threshold ? 0 : skip_at(node);
        node += MODEL_SKIP_BYTES + skip;
    }
}

#ifdef MODEL_BOOSTED

static inline int16_t value_at(const uint8_t *leaf)
{
#if MODEL_LEAF_BYTES == 1
    return (int8_t)flash_u8(leaf + 1);
#else
    return (int16_t)(uint16_t)(flash_u8(leaf + 1) | (uint16_t)flash_u8(leaf + 2) << 8);
#endif
}

uint16_t kernel_finish(int32_t *scores)
{
    for (uint16_t s = 0; s < MODEL_SCORES; s++) {
        scores[s] = flash_i32(&model_base[s]);
    }
    uint16_t s = 0;
    for (uint16_t t = 0; t < MODEL_TREES; t++) {
        scores[s] += value_at(leaf_of(&model_nodes[flash_u16(&model_starts[t])]));
        if (++s == MODEL_SCORES) {
            s = 0;
        }
    }
    return argmax(scores);
}

#else

uint16_t kernel_finish(int32_t *scores)
{
    for (uint16_t s = 0; s < MODEL_SCORES; s++) {
        scores[s] = 0;
    }
    for (uint16_t t = 0; t < MODEL_TREES; t++) {
        const uint8_t class = (uint8_t)(255 - flash_u8(leaf_of(&model_nodes[flash_u16(&model_starts[t])])));
#if MODEL_SCORES == 1
        scores[0] += class ? 1 : -1;
#else
        scores[class]++;
#endif
    }
    return argmax(scores);
}

#endif

#endif
