/* Does the installed simavr skip over ADIW and SBIW as the chip does? */
#ifndef AVRBOARD_PROOF_H
#define AVRBOARD_PROOF_H

#include <stdbool.h>

bool skips_one_word(void);

#endif
