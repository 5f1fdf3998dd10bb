#include "image.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The AVR linker places RAM, EEPROM and fuses at these and higher addresses of one flat space. */
enum { BEYOND_FLASH = 0x800000 };

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    uint8_t *data = NULL;
    size_t room = 0;
    *size = 0;
    for (;;) {
        if (*size == room) {
            room = room ? 2 * room : 1 << 16;
            data = realloc(data, room);
            if (!data)
                exit(1);
        }
        size_t got = fread(data + *size, 1, room - *size, file);
        if (!got)
            break;
        *size += got;
    }
    fclose(file);
    return data;
}

static bool load(const uint8_t *data, size_t size, uint8_t *flash, size_t flash_size, char *problem, size_t room)
{
    Elf32_Ehdr header;
    if (size < sizeof header || memcmp(data, ELFMAG, SELFMAG) || data[EI_CLASS] != ELFCLASS32) {
        snprintf(problem, room, "it is not a 32-bit ELF file");
        return false;
    }
    memcpy(&header, data, sizeof header);
    if (header.e_machine != EM_AVR) {
        snprintf(problem, room, "it was not built for AVR");
        return false;
    }
    bool any = false;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf32_Phdr segment;
        size_t at = (size_t)header.e_phoff + (size_t)i * header.e_phentsize;
        if (at + sizeof segment > size) {
            snprintf(problem, room, "it is cut short");
            return false;
        }
        memcpy(&segment, data + at, sizeof segment);
        if (segment.p_type != PT_LOAD || !segment.p_filesz || segment.p_paddr >= BEYOND_FLASH)
            continue;
        if ((size_t)segment.p_offset + segment.p_filesz > size) {
            snprintf(problem, room, "it is cut short");
            return false;
        }
        if ((size_t)segment.p_paddr + segment.p_filesz > flash_size) {
            snprintf(problem, room, "it needs %zu bytes of flash and the chip has %zu",
                     (size_t)segment.p_paddr + segment.p_filesz, flash_size);
            return false;
        }
        memcpy(flash + segment.p_paddr, data + segment.p_offset, segment.p_filesz);
        any = true;
    }
    if (!any)
        snprintf(problem, room, "it holds no code");
    return any;
}

bool image_load(const char *path, uint8_t *flash, size_t flash_size, char *problem, size_t problem_size)
{
    size_t size;
    uint8_t *data = read_file(path, &size);
    if (!data) {
        snprintf(problem, problem_size, "%s", strerror(errno));
        return false;
    }
    bool loaded = load(data, size, flash, flash_size, problem, problem_size);
    free(data);
    return loaded;
}
