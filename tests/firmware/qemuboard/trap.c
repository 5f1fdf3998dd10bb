/* Opens a window, says that it is here, and executes what no processor can. */
#include "hal.h"

int main(void)
{
    hal_start();
    hal_window_open();
    hal_put('A');
    __builtin_trap();
}
