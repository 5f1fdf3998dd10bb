/* Registers of 16 bits of a chip on the I2C bus, high byte first. False when nobody answers. */
#ifndef METER_TWI_H
#define METER_TWI_H

#include <stdbool.h>
#include <stdint.h>

void twi_start(void);

bool twi_write(uint8_t address, uint8_t chip_register, uint16_t value);

bool twi_read(uint8_t address, uint8_t chip_register, uint16_t *value);

#endif
