/* Clipping of floats, the same as numpy's: a value within the limits keeps its bits. */
#ifndef FLOAT_CLIP_H
#define FLOAT_CLIP_H

static inline float clip_float(float value, float low, float high)
{
    return value < low ? low : value > high ? high : value;
}

#endif
