/* Decision trees, forests and boosted trees in integers.
 *
 *     x[feature] <= threshold     at an inner node: go on at its low side, else at its high side
 *
 *     votes:    score_c = trees that vote for class c; with two classes votes for 1 - votes for 0
 *     boosted:  score_s = base_s + the values of the trees s, s + SCORES, s + 2·SCORES, …
 *
 * Nodes are bytes (tree_nodes.h) or straight-line code (MODEL_CODE, tree_code.h). Features are int8 or int16.
 * Where a whole vector is in RAM, the trees are walked on it; of features that come piece by piece only those
 * are kept that nodes speak of. */
#include "kernel.h"

#if defined(MODEL_FAMILY_TREES)

#include "argmax.h"
#include "model_data.h"

/* What is counted while trees are walked: votes of each class, or the sums of the scores. The exporter has
 * proven that none can overflow. */
#if !defined(MODEL_BOOSTED) && MODEL_TALLY_BYTES == 1
typedef uint8_t tally_t;
#elif !defined(MODEL_BOOSTED)
typedef uint16_t tally_t;
#elif MODEL_TALLY_BYTES == 2
typedef int16_t tally_t;
#else
typedef int32_t tally_t;
#endif

static tally_t tally[MODEL_TALLIES];

#ifdef MODEL_CODE
#include "tree_code.h"
#else
#include "tree_nodes.h"
#endif

#if WHOLE_VECTORS

void kernel_begin(void)
{
}

void kernel_fold(uint16_t first, const feature_t *x, uint16_t count)
{
    (void)first;
    (void)count;
    walk_trees(x);
}

#else

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
    uint16_t slot = next_slot;
    for (; slot < MODEL_SLOTS; slot++) {
        const uint16_t at = (uint16_t)(flash_u16(&model_kept[slot]) - first);
        if (at >= count) {
            break;
        }
        kept[slot] = x[at];
    }
    next_slot = slot;
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

#endif

uint16_t kernel_finish(int32_t *scores)
{
#if !WHOLE_VECTORS
    walk_trees(kept);
#endif
#if defined(MODEL_BOOSTED)
    for (uint16_t s = 0; s < MODEL_SCORES; s++) {
        scores[s] = flash_i32(&model_base[s]) + tally[s];
    }
#elif MODEL_SCORES == 1
    scores[0] = (int32_t)tally[1] - (int32_t)tally[0];
#else
    for (uint16_t c = 0; c < MODEL_SCORES; c++) {
        scores[c] = tally[c];
    }
#endif
    return argmax(scores);
}

#endif
