/* Sizes and constants of example: linear, int8, 4 features, 3 classes, 24 bytes. Model
 * d8a8d55d71cbe72f. Written by kilobench; changes are lost when the firmware is built. */

#ifndef MODEL_H
#define MODEL_H

/* The number formats there are; the same codes as on the link. */
#define MODEL_INT8 1
#define MODEL_INT16 2
#define MODEL_FLOAT32 3

#define MODEL_NUMBERS MODEL_INT8
#define MODEL_FAMILY_LINEAR 1
#define MODEL_FEATURES 4u
#define MODEL_CLASSES 3u
#define MODEL_SCORES 3u
#define MODEL_NAME "example"
#define MODEL_HASH {0xd8, 0xa8, 0xd5, 0x5d, 0x71, 0xcb, 0xe7, 0x2f}

/* Shapes, and how the weights are laid out. */
#define MODEL_W_ROWS 3u
#define MODEL_W_DENSE8 1u
#define MODEL_W_SUM_BYTES 2u

#endif
