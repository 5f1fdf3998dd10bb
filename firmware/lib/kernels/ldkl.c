/* LDKL in integers: a tree whose nodes look at the features themselves.
 *
 *     r_i  = Σ_j R_ij·x_j / 2^V_SHIFT + b_i     x, R int8 or R of 4 bits; b int16; r int32
 *     p_kc = r_i / 2^W_SHIFT                    of the rows of predictors, int16
 *     t_kc = clip(r_i) to ±127                  of the rows of gates: tanh(x) ≈ x within ±1, 127 being 1
 *     y_c  = Σ_k p_kc·t_kc                      over the nodes k on the path, int32
 *
 * The rows of R are those of the predictors, node after node, then those of the gates, then one a branch.
 * From node k the path goes on to 2k+2 if r > 0 for its branch, else to 2k+1. All divisions round to nearest,
 * halves up. Where the whole vector is at hand, only the rows on the path are summed; of features that come
 * piece by piece every row is, because the path is only known at the end. */
#include "kernel.h"

#if defined(MODEL_FAMILY_LDKL) && MODEL_NUMBERS == MODEL_INT8

#include "argmax.h"
#include "model_data.h"
#include "nodes.h"
#include "tree_path.h"

#define NODES ((2u << MODEL_DEPTH) - 1u)
#define GATES (NODES * MODEL_SCORES)
#define BRANCHES (2u * GATES)

/* These layouts let a row be read alone. */
#if WHOLE_VECTORS && (defined(MODEL_W_DENSE8) || defined(MODEL_W_ROWS8) || defined(MODEL_W_DENSE4) || \
                      defined(MODEL_W_ROWS4))
#define ROWS_ON_PATH 1
#else
#define ROWS_ON_PATH 0
#endif

#if defined(MODEL_W_DENSE4) || defined(MODEL_W_ROWS4)
#define ROW_BITS NIBBLE_BITS
#else
#define ROW_BITS 0
#endif

#if ROWS_ON_PATH

#include "single_rows.h"

#else

#include "projection_any.h"

typedef uint8_t reader_t;

static inline void reader_begin(reader_t *reader, uint16_t row, uint16_t at)
{
    (void)row;
    (void)at;
    *reader = 0;
}

static inline sum_t row_dot(reader_t *reader, uint16_t row, const int8_t *x)
{
    (void)reader;
    (void)x;
    return projection[row];
}

#endif

static inline wide_t row_sum(reader_t *reader, uint16_t row, const int8_t *x)
{
    return rounded_sum(row_dot(reader, row, x), MODEL_V_SHIFT + ROW_BITS) + flash_i16(&model_b[row]);
}

/* p of a row of predictors: W_SHIFT makes it fit into 16 bits. */
static inline int16_t predicted(wide_t r)
{
#if MODEL_W_SHIFT == 0
    return (int16_t)r;
#else
    return (int16_t)shifted(r, MODEL_W_SHIFT);
#endif
}

static void walk(int32_t *scores, const int8_t *x)
{
    reader_t predictors, gates, branches;
    reader_begin(&predictors, 0, 0);
    reader_begin(&gates, GATES, MODEL_GATES_AT);
    reader_begin(&branches, BRANCHES, MODEL_BRANCHES_AT);
    for (uint16_t c = 0; c < MODEL_SCORES; c++) {
        scores[c] = 0;
    }
    uint16_t node = 0;
    for (uint8_t level = 0;; level++) {
        uint16_t row = (uint16_t)(node * MODEL_SCORES);
        for (uint16_t c = 0; c < MODEL_SCORES; c++, row++) {
            const int16_t p = predicted(row_sum(&predictors, row, x));
            scores[c] += gated(p, clipped(row_sum(&gates, (uint16_t)(GATES + row), x)));
        }
        if (level == MODEL_DEPTH) {
            break;
        }
        node = child(node, row_sum(&branches, (uint16_t)(BRANCHES + node), x) > 0);
    }
}

#if ROWS_ON_PATH

static int32_t found[MODEL_SCORES];

void kernel_begin(void)
{
}

void kernel_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    (void)first;
    (void)count;
    walk(found, x);
}

uint16_t kernel_finish(int32_t *scores)
{
    for (uint16_t c = 0; c < MODEL_SCORES; c++) {
        scores[c] = found[c];
    }
    return argmax(scores);
}

#else

void kernel_begin(void)
{
    projection_begin();
}

void kernel_fold(uint16_t first, const int8_t *x, uint16_t count)
{
    projection_fold(first, x, count);
}

uint16_t kernel_finish(int32_t *scores)
{
    walk(scores, NULL);
    return argmax(scores);
}

#endif

#endif
