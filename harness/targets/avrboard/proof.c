#include "proof.h"

#include <stddef.h>
#include <stdint.h>

#include <simavr/sim_avr.h>

avr_flashaddr_t avr_run_one(avr_t *avr);

/* simavr up to 1.6 takes ADIW and SBIW with a constant whose low four bits are 12 to 15 for two-word instructions
 * when they are skipped, and so skips what follows as well. All registers are zero and so is I/O register 0x1e, so
 * each of these skips. */
static const uint16_t skips[] = {
    0xfc00, /* sbrc r0, 0    */
    0x1001, /* cpse r0, r1   */
    0x99f0, /* sbic 0x1e, 0  */
};
static const uint16_t victims[] = {
    0x960c, /* adiw r24, 12  */
    0x96ff, /* adiw r30, 63  */
    0x971d, /* sbiw r26, 13  */
};

static bool skips_right(avr_t *avr, uint16_t skip, uint16_t victim)
{
    uint8_t code[] = {(uint8_t)skip, (uint8_t)(skip >> 8), (uint8_t)victim, (uint8_t)(victim >> 8), 0, 0, 0, 0};
    avr_loadcode(avr, code, sizeof code, 0);
    avr_reset(avr);
    return avr_run_one(avr) == 4;
}

bool skips_one_word(void)
{
    avr_t *avr = avr_make_mcu_by_name("atmega328p");
    if (!avr)
        return false;
    avr_init(avr);
    for (size_t i = 0; i < sizeof skips / sizeof *skips; i++)
        for (size_t j = 0; j < sizeof victims / sizeof *victims; j++)
            if (!skips_right(avr, skips[i], victims[j]))
                return false;
    return true;
}
