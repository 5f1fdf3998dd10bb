/* Arrays, for the kernel alone of example: linear, int8, 4 features, 3 classes, 24 bytes. Model
 * d8a8d55d71cbe72f. Written by kilobench; changes are lost when the firmware is built. */

#ifndef MODEL_DATA_H
#define MODEL_DATA_H

#include <stdint.h>

#include "flash.h"

/* 3 × 4 */
static const int8_t model_w[12] FLASH = {
    20, -3, 5, 1,
    -7, 30, 2, -4,
    1, -2, -9, 25,
};

/* 3 */
static const int32_t model_bias[3] FLASH = {
    10, -5, 0,
};

#endif
