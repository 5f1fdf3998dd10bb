/* projection[i] = Σ_j W_ij·x_j in float32, folded piece by piece in the order of the features.
 *
 * Each step is one multiplication and one addition, both rounded: compile with -ffp-contract=off where the
 * processor can fuse them, or the sums differ from the host's. W is model_w (MODEL_W_DENSE_FLOAT: row after
 * row) or of each row the non-zero values only (MODEL_W_ROWS_FLOAT: model_w_gaps, model_w_values,
 * model_w_counts). Included once, by the kernel. */
#ifndef PROJECTION_FLOAT_H
#define PROJECTION_FLOAT_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>

#include "flash.h"
#include "kernel.h"
#include "model_data.h"

_Static_assert(FLT_EVAL_METHOD == 0, "float must be computed as float: with wider registers sums differ");

static float projection[MODEL_W_ROWS];

#if defined(MODEL_W_DENSE_FLOAT)

static void projection_begin(void)
{
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        projection[i] = 0.0f;
    }
}

static void projection_fold(uint16_t first, const float *x, uint16_t count)
{
    size_t at = first;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++, at += MODEL_FEATURES) {
        float sum = projection[i];
        for (uint16_t j = 0; j < count; j++) {
            sum += flash_f32(&model_w[at + j]) * x[j];
        }
        projection[i] = sum;
    }
}

#elif defined(MODEL_W_ROWS_FLOAT)

static inline uint16_t values_of_row(uint16_t row)
{
#if MODEL_W_COUNT_BYTES == 1
    return flash_u8(&model_w_counts[row]);
#else
    return flash_u16(&model_w_counts[row]);
#endif
}

#if WHOLE_VECTORS

static void projection_begin(void)
{
}

/* A row is read to its end: nothing needs to be kept of where its reading stands. */
static void projection_fold(uint16_t first, const float *x, uint16_t count)
{
    (void)first;
    (void)count;
    size_t value = 0;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        const float *at = x - 1; /* the first gap counts from the column before the first */
        float sum = 0.0f;
        for (uint16_t left = values_of_row(i); left != 0; left--, value++) {
            at += flash_u8(&model_w_gaps[value]);
            sum += flash_f32(&model_w_values[value]) * *at;
        }
        projection[i] = sum;
    }
}

#else

/* How far each row has been read: a row's values do not end where a piece of the vector does. */
static struct {
    size_t value;     /* the next one */
    uint16_t columns; /* how many lie before the next gap */
} cursor[MODEL_W_ROWS];

static void projection_begin(void)
{
    size_t value = 0;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        projection[i] = 0.0f;
        cursor[i].value = value;
        cursor[i].columns = 0;
        value += values_of_row(i);
    }
}

static void projection_fold(uint16_t first, const float *x, uint16_t count)
{
    const uint16_t end = (uint16_t)(first + count);
    size_t row_end = 0;
    for (uint16_t i = 0; i < MODEL_W_ROWS; i++) {
        row_end += values_of_row(i);
        float sum = projection[i];
        size_t value = cursor[i].value;
        uint16_t columns = cursor[i].columns;
        for (; value < row_end; value++) {
            const uint16_t next = (uint16_t)(columns + flash_u8(&model_w_gaps[value]));
            if (next > end) {
                break;
            }
            columns = next;
            sum += flash_f32(&model_w_values[value]) * x[columns - 1 - first];
        }
        cursor[i].value = value;
        cursor[i].columns = columns;
        projection[i] = sum;
    }
}

#endif

#else
#error "model.h names no layout of W that this kernel reads"
#endif

#endif
