/* The loadable segments of an AVR ELF file. */
#ifndef AVRBOARD_IMAGE_H
#define AVRBOARD_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies every segment that lies in flash; on failure says why in `problem`. simavr's own loader is not used: it
 * takes only .text and .data by name. */
bool image_load(const char *path, uint8_t *flash, size_t flash_size, char *problem, size_t problem_size);

#endif
