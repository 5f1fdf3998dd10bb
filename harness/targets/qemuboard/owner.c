/* A simulator must not outlive its harness. The harness holds the other end of a pipe, which the system closes
 * with it; a child that it has forked meanwhile may hold a copy, so its process number is looked at too. */
#include "owner.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

enum { LOOK_MS = 200 };

static struct {
    int pipe;
    pid_t owner;
} watched;

static void *watch(void *nothing)
{
    struct pollfd end = {.fd = watched.pipe, .events = POLLIN};
    /* Nothing is ever written: that it can be read means that it has ended. */
    while (poll(&end, 1, LOOK_MS) <= 0 && getppid() == watched.owner) {
    }
    _exit(0);
    return nothing;
}

bool owner_watch(int pipe, pid_t owner)
{
    watched.pipe = pipe;
    watched.owner = owner;
    /* QEMU's own threads are to get its signals. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    bool started = pthread_create(&thread, NULL, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}
