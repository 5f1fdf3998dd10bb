/* From the first instructions, in reset.S, to main. */
#include "memory.h"

int main(void);
void start(void);

__attribute__((noreturn, used)) void start(void)
{
    memory_start();
    main();
    for (;;) {
    }
}
