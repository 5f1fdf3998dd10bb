/* 2^-t for t ≥ 0 in float32 multiplications and additions only, so that every processor gives the same bits:
 * the C library's own exp is another one on each. models/arithmetic.py has the same in numpy.
 *
 * t = n + f: the fraction f goes through a polynomial of relative error 8.4e-8 (about one unit in the last
 * place), the whole part n straight into the exponent field. */
#ifndef FLOAT_EXP_H
#define FLOAT_EXP_H

#include <stdint.h>
#include <string.h>

/* From here on the result is 0: 2^-126 is the smallest normal number, so that no denormal ever arises. */
#define EXP2_LIMIT 125.0f

static inline float exp2_negative(float t)
{
    if (!(t < EXP2_LIMIT)) {
        return 0.0f;
    }
    const uint8_t whole = (uint8_t)t;
    const float f = t - (float)whole;
    float value = -0.0009449034f;
    value = value * f + 0.0092057977f;
    value = value * f - 0.0552973561f;
    value = value * f + 0.2401801497f;
    value = value * f - 0.6931437254f;
    value = value * f + 1.0f;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits -= (uint32_t)whole << 23;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
