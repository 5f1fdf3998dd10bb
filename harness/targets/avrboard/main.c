/* avrboard: a simulated AVR board behind a socket. Started by harness/targets/simavr.py, which listens first and
 * hands the socket over; ends with its parent, at end of file on standard input, or when told to quit.
 *
 *   avrboard FD PARENT SOCKET MCU HZ ELF UART TRIGGER
 *   avrboard prove          exit 0 if this simavr skips over ADIW as the chip does, 3 if not */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <simavr/sim_core_config.h>

#include "board.h"
#include "proof.h"
#include "wire.h"

enum { MOST_CLIENTS = 8, HEAD = 5, LONGEST_REQUEST = 1 << 24, WRONG_PATTERN = 3 };

struct client {
    int fd; /* -1: free */
    struct bytes in, out;
};

static struct board board;
static struct client clients[MOST_CLIENTS];
static const char *elf;
static pid_t parent;
static char socket_path[256], socket_folder[256];

/* The folder was made for this socket alone; a parent that was killed cannot tidy up. */
static void tidy(void)
{
    unlink(socket_path);
    rmdir(socket_folder);
}

/* The kernel sends this when the parent's thread ends, even if the parent itself goes on. */
static void on_parent_death(int signal)
{
    (void)signal;
    if (getppid() != parent) {
        tidy();
        _exit(0);
    }
}

static void stay_with_parent(void)
{
    struct sigaction action = {.sa_handler = on_parent_death, .sa_flags = SA_RESTART};
    sigaction(SIGHUP, &action, NULL);
    prctl(PR_SET_PDEATHSIG, SIGHUP);
    on_parent_death(SIGHUP); /* it may have died before the line above */
    signal(SIGINT, SIG_IGN); /* Ctrl-C goes to the whole group; the parent decides */
    signal(SIGPIPE, SIG_IGN);
}

static void reply(struct client *c, enum outcome outcome, const void *payload, size_t length)
{
    struct wire_reply head = {
        .outcome = (uint8_t)outcome,
        .cycle = board.avr->cycle,
        .unsent = (uint32_t)bytes_count(&board.usart.line),
        .length = (uint32_t)length,
    };
    bytes_append(&c->out, &head, sizeof head);
    bytes_append(&c->out, payload, length);
}

static void reply_queue(struct client *c, enum outcome outcome, struct bytes *queue)
{
    reply(c, outcome, queue->data + queue->first, bytes_count(queue));
    bytes_clear(queue);
}

static void reply_about(struct client *c)
{
    Dl_info library = {0};
    dladdr((void *)(uintptr_t)&avr_init, &library);
    char text[1024];
    int length = snprintf(text, sizeof text, "%s\n%s\n%s\n%u", CONFIG_SIMAVR_VERSION,
                          library.dli_fname ? library.dli_fname : "", elf, board.avr->frequency);
    reply(c, RAN_ENOUGH, text, (size_t)length);
}

static void reply_fault(struct client *c)
{
    char text[4 + sizeof board.fault];
    memcpy(text, &board.fault_pc, 4);
    size_t length = strlen(board.fault);
    memcpy(text + 4, board.fault, length);
    reply(c, board.fault[0] ? RAN_FAULT : RAN_ENOUGH, text, 4 + length);
}

static uint64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* False when the peer speaks something else. */
static bool obey(struct client *c, uint8_t letter, const uint8_t *payload, size_t length)
{
    switch (letter) {
    case WIRE_WRITE:
        usart_write(&board.usart, payload, length);
        return true;
    case WIRE_LINE: {
        struct wire_line line;
        if (length != sizeof line)
            return false;
        memcpy(&line, payload, length);
        board.usart.host_baud = line.baud;
        board_set_dtr(&board, line.dtr);
        reply(c, RAN_ENOUGH, NULL, 0);
        return true;
    }
    case WIRE_PURGE:
        usart_drop_line(&board.usart);
        reply(c, RAN_ENOUGH, NULL, 0);
        return true;
    case WIRE_RUN: {
        struct wire_run run;
        if (length != sizeof run)
            return false;
        memcpy(&run, payload, length);
        enum outcome outcome = board_run(&board, run.want, run.cycles, run.whole);
        reply_queue(c, outcome, &board.usart.arrived);
        return true;
    }
    case WIRE_WINDOWS:
        reply_queue(c, RAN_ENOUGH, &board.windows);
        return true;
    case WIRE_FACTS: {
        struct wire_facts facts = {board.slept, board.usart.overruns, board_stack_peak(&board), cpu_ns()};
        reply(c, RAN_ENOUGH, &facts, sizeof facts);
        return true;
    }
    case WIRE_FAULT:
        reply_fault(c);
        return true;
    case WIRE_ABOUT:
        reply_about(c);
        return true;
    case WIRE_RESET:
        board_reset(&board);
        reply(c, RAN_ENOUGH, NULL, 0);
        return true;
    case WIRE_QUIT:
        tidy();
        exit(0);
    default:
        return false;
    }
}

static bool send_all(struct client *c)
{
    while (bytes_count(&c->out)) {
        ssize_t sent = write(c->fd, c->out.data + c->out.first, bytes_count(&c->out));
        if (sent < 0 && errno != EINTR)
            return false;
        if (sent > 0)
            c->out.first += (size_t)sent;
    }
    return true;
}

static bool serve(struct client *c)
{
    uint8_t chunk[65536];
    ssize_t got = read(c->fd, chunk, sizeof chunk);
    if (got <= 0)
        return got < 0 && errno == EINTR;
    bytes_append(&c->in, chunk, (size_t)got);
    for (;;) {
        const uint8_t *head = c->in.data + c->in.first;
        uint32_t length;
        if (bytes_count(&c->in) < HEAD)
            return true;
        memcpy(&length, head + 1, sizeof length);
        if (length > LONGEST_REQUEST)
            return false;
        if (bytes_count(&c->in) < HEAD + (size_t)length)
            return true;
        c->in.first += HEAD + (size_t)length;
        if (!obey(c, head[0], head + HEAD, length) || !send_all(c))
            return false;
    }
}

static void forget(struct client *c)
{
    close(c->fd);
    c->fd = -1;
    bytes_clear(&c->in);
    bytes_clear(&c->out);
}

static void welcome(int listener)
{
    int fd = accept(listener, NULL, NULL);
    for (int i = 0; i < MOST_CLIENTS && fd >= 0; i++)
        if (clients[i].fd < 0) {
            clients[i].fd = fd;
            return;
        }
    if (fd >= 0)
        close(fd);
}

static void loop(int listener)
{
    for (;;) {
        struct pollfd waits[2 + MOST_CLIENTS] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                                 {.fd = listener, .events = POLLIN}};
        for (int i = 0; i < MOST_CLIENTS; i++)
            waits[2 + i] = (struct pollfd){.fd = clients[i].fd, .events = POLLIN};
        if (poll(waits, 2 + MOST_CLIENTS, -1) < 0)
            continue;
        if (waits[0].revents)
            return;
        for (int i = 0; i < MOST_CLIENTS; i++)
            if (waits[2 + i].revents && !serve(&clients[i]))
                forget(&clients[i]);
        if (waits[1].revents)
            welcome(listener);
    }
}

int main(int count, char **words)
{
    if (count == 2 && !strcmp(words[1], "prove"))
        return skips_one_word() ? 0 : WRONG_PATTERN;
    if (count != 9 || words[3][0] != '/') {
        fputs("usage: avrboard FD PARENT SOCKET MCU HZ ELF UART TRIGGER\n", stderr);
        return 2;
    }
    parent = atoi(words[2]);
    snprintf(socket_path, sizeof socket_path, "%s", words[3]);
    snprintf(socket_folder, sizeof socket_folder, "%.*s", (int)(strrchr(words[3], '/') - words[3]), words[3]);
    stay_with_parent();
    elf = words[6];
    for (int i = 0; i < MOST_CLIENTS; i++)
        clients[i].fd = -1;
    if (!board_make(&board, words[4], (uint32_t)strtoul(words[5], NULL, 10), elf, words[7][0], words[8])) {
        tidy();
        return 1;
    }
    loop(atoi(words[1]));
    tidy();
    return 0;
}
