#ifndef OWNER_H
#define OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* End this process when the harness that started it has ended, however it did. */
bool owner_watch(int pipe, pid_t owner);

#endif
