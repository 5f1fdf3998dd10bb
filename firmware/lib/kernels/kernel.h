/* What main.c needs of a model family. One kernel is compiled: the one that model.h names.
 *
 * A sample is folded in piece by piece, so that a vector far larger than RAM can be streamed; the whole
 * vector in one piece gives the same answer. kernel_finish ends it: what was folded may be gone, because
 * kernels use its memory for something else. */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdint.h>

#include "model.h"

#if MODEL_NUMBERS == MODEL_FLOAT32
typedef float feature_t;
typedef float score_t;
#elif MODEL_NUMBERS == MODEL_INT16
typedef int16_t feature_t;
typedef int32_t score_t;
#else
typedef int8_t feature_t;
typedef int32_t score_t;
#endif

/* Firmware that keeps the whole vector says STREAMING=0: it folds every sample in one piece, and a kernel may
 * leave out what it needs for more. */
#if defined(STREAMING) && !STREAMING
#define WHOLE_VECTORS 1
#else
#define WHOLE_VECTORS 0
#endif

/* A new sample begins. */
void kernel_begin(void);

/* Features first, first + 1, … first + count - 1. Each feature comes once, in order. */
void kernel_fold(uint16_t first, const feature_t *x, uint16_t count);

/* All features are in: fill MODEL_SCORES scores and give the class. */
uint16_t kernel_finish(score_t *scores);

#endif
