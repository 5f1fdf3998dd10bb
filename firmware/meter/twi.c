#include <avr/io.h>
#include <util/twi.h>

#include "twi.h"

enum {
    BUS_HZ = 400000,
    PATIENCE = 2000, /* turns of a loop of about 10 cycles: 1.2 ms, fifty times as long as a byte lasts */
};

/* Address and register of the last question. The chip remembers it, so that asking again takes three bytes, not
 * five. */
static uint16_t pointed = UINT16_MAX;

void twi_start(void)
{
    PORTC |= 1 << PORTC4 | 1 << PORTC5; /* weak pull-ups, for a module that has none of its own */
    TWSR = 0;
    TWBR = (F_CPU / BUS_HZ - 16) / 2;
    TWCR = 1 << TWEN;
}

/* Let the hardware do one step; whether it ended as it should. */
static bool step(uint8_t control, uint8_t expected)
{
    TWCR = (uint8_t)(1 << TWINT | 1 << TWEN | control);
    for (uint16_t turns = 0; turns < PATIENCE; turns++) {
        if (TWCR & 1 << TWINT) {
            return TW_STATUS == expected;
        }
    }
    return false;
}

static bool put(uint8_t byte, uint8_t expected)
{
    TWDR = byte;
    return step(0, expected);
}

/* A line that somebody holds down would block for ever: the hardware is switched off and on instead. */
static bool stop(bool success)
{
    TWCR = 1 << TWINT | 1 << TWEN | 1 << TWSTO;
    for (uint16_t turns = 0; turns < PATIENCE; turns++) {
        if (!(TWCR & 1 << TWSTO)) {
            break;
        }
    }
    if (!success) {
        TWCR = 0;
        TWCR = 1 << TWEN;
        pointed = UINT16_MAX;
    }
    return success;
}

static bool point(uint8_t address, uint8_t chip_register)
{
    return step(1 << TWSTA, TW_START) && put((uint8_t)(address << 1 | TW_WRITE), TW_MT_SLA_ACK)
           && put(chip_register, TW_MT_DATA_ACK);
}

bool twi_write(uint8_t address, uint8_t chip_register, uint16_t value)
{
    pointed = UINT16_MAX;
    return stop(point(address, chip_register) && put((uint8_t)(value >> 8), TW_MT_DATA_ACK)
                && put((uint8_t)value, TW_MT_DATA_ACK));
}

bool twi_read(uint8_t address, uint8_t chip_register, uint16_t *value)
{
    uint16_t wanted = (uint16_t)(address << 8 | chip_register);
    bool known = pointed == wanted;
    if (!known && !point(address, chip_register)) {
        return stop(false);
    }
    if (!step(1 << TWSTA, known ? TW_START : TW_REP_START)
        || !put((uint8_t)(address << 1 | TW_READ), TW_MR_SLA_ACK) || !step(1 << TWEA, TW_MR_DATA_ACK)) {
        return stop(false);
    }
    uint8_t high = TWDR;
    if (!step(0, TW_MR_DATA_NACK)) {
        return stop(false);
    }
    *value = (uint16_t)(high << 8 | TWDR);
    pointed = wanted;
    return stop(true);
}
