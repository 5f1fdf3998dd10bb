/* Constant arrays in flash, and how to read them.
 *
 * AVR is a Harvard machine: a constant is copied to RAM at start unless it is marked PROGMEM, and then it
 * takes another instruction (lpm) to read. On other processors flash is ordinary memory. */
#ifndef FLASH_H
#define FLASH_H

#include <stdint.h>

#ifdef __AVR__

#include <avr/pgmspace.h>

#define FLASH PROGMEM

static inline int8_t flash_i8(const int8_t *at) { return (int8_t)pgm_read_byte(at); }
static inline uint8_t flash_u8(const uint8_t *at) { return pgm_read_byte(at); }
static inline int16_t flash_i16(const int16_t *at) { return (int16_t)pgm_read_word(at); }
static inline uint16_t flash_u16(const uint16_t *at) { return pgm_read_word(at); }
static inline int32_t flash_i32(const int32_t *at) { return (int32_t)pgm_read_dword(at); }
static inline float flash_f32(const float *at) { return pgm_read_float(at); }

#else

/* An array of one number becomes part of the code, where nobody would count it among the model's bytes. */
#define FLASH __attribute__((used))

static inline int8_t flash_i8(const int8_t *at) { return *at; }
static inline uint8_t flash_u8(const uint8_t *at) { return *at; }
static inline int16_t flash_i16(const int16_t *at) { return *at; }
static inline uint16_t flash_u16(const uint16_t *at) { return *at; }
static inline int32_t flash_i32(const int32_t *at) { return *at; }
static inline float flash_f32(const float *at) { return *at; }

#endif

#endif
