/* Counts what a simulated chip does between the edges of its trigger pin.
 *
 * QEMU calls this for every block of instructions that it translates, and executes what is registered then with
 * every instruction: an addition to the counts, made inline. Stores are looked at one by one: those to the
 * trigger's registers are the pin's edges, and those to the stack show how deep it is.
 *
 * Arguments: counts=FD owner=PID watch=FD entry=ADDRESS set=ADDRESS clear=ADDRESS stack=LOW stack_end=HIGH,
 * and core=cortex-m0 where cycles are to be modelled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cortexm0.h"
#include "counts.h"
#include "owner.h"
#include "plugin_api.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int qemu_plugin_version = PLUGIN_API_VERSION;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

static counts_t *counts;
static bool timed; /* whether cycles are modelled */

static struct {
    uint64_t set, clear; /* the same where one register does both in turn */
    bool high;
    uint64_t cycles, instructions; /* at the rising edge */
} trigger;

static struct {
    uint64_t low, end;
} stack;

static uint64_t entry;

/* Where the program goes on if the conditional branch that is under way is not taken; 0 if none is. */
static uint64_t not_taken;

static uint64_t cycles_now(void)
{
    return timed ? counts->cycles : counts->instructions;
}

static void rise(void)
{
    trigger.high = true;
    trigger.cycles = cycles_now();
    trigger.instructions = counts->instructions;
}

static void fall(void)
{
    trigger.high = false;
    counts->ring[counts->windows % COUNTS_RING] = (window_t){
        .start = trigger.cycles,
        .cycles = cycles_now() - trigger.cycles,
        .instructions = counts->instructions - trigger.instructions,
    };
    __atomic_store_n(&counts->windows, counts->windows + 1, __ATOMIC_RELEASE);
}

static void on_store(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    (void)cpu, (void)info, (void)data;
    if (address - stack.low < stack.end - stack.low) {
        if (address < counts->stack_low || counts->stack_low == 0) {
            counts->stack_low = address;
        }
    } else if (address == trigger.set && !(trigger.high && trigger.set == trigger.clear)) {
        rise();
    } else if (address == trigger.clear && trigger.high) {
        fall();
    }
}

/* The first instruction after a reset: the pin is low again, whatever was under way. */
static void on_reset(unsigned int cpu, void *data)
{
    (void)cpu, (void)data;
    trigger.high = false;
    not_taken = 0;
}

static void on_block(unsigned int cpu, void *address)
{
    (void)cpu;
    if (not_taken != 0) {
        if (not_taken != (uint64_t)(uintptr_t)address) {
            counts->cycles += CORTEXM0_TAKEN;
        }
        not_taken = 0;
    }
}

enum { CONDITIONAL_BYTES = 2 };

static void count_cycles(struct qemu_plugin_insn *insn)
{
    const uint8_t *code = qemu_plugin_insn_data(insn);
    timing_t timing = cortexm0_timing((uint16_t)(code[0] | code[1] << 8));
    qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &counts->cycles,
                                               timing.cycles);
    if (timing.conditional) {
        /* An addition to 0 is a store. The block that follows tells whether it was taken. */
        qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &not_taken,
                                                   qemu_plugin_insn_vaddr(insn) + CONDITIONAL_BYTES);
    }
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    if (timed) {
        void *address = (void *)(uintptr_t)qemu_plugin_tb_vaddr(tb);
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, address);
    }
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        if (qemu_plugin_insn_vaddr(insn) == entry) {
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_reset, QEMU_PLUGIN_CB_NO_REGS, NULL);
        }
        qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &counts->instructions, 1);
        if (timed) {
            count_cycles(insn);
        }
        qemu_plugin_register_vcpu_mem_cb(insn, on_store, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_W, NULL);
    }
}

static int refuse(const char *why, const char *argument)
{
    fprintf(stderr, "kilobench plugin: %s: %s\n", why, argument);
    return -1;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    uint64_t counts_fd = UINT64_MAX, watch_fd = UINT64_MAX, owner = 0;
    const struct {
        const char *name;
        uint64_t *value;
    } numbers[] = {
        {"counts", &counts_fd}, {"watch", &watch_fd},  {"owner", &owner},      {"entry", &entry},
        {"set", &trigger.set},  {"clear", &trigger.clear}, {"stack", &stack.low}, {"stack_end", &stack.end},
    };
    for (int i = 0; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (value == NULL) {
            return refuse("an argument without a value", argv[i]);
        }
        *value++ = '\0';
        if (strcmp(argv[i], "core") == 0) {
            if (strcmp(value, "cortex-m0") != 0) {
                return refuse("no timings are known of the core", value);
            }
            timed = true;
            continue;
        }
        size_t known = sizeof numbers / sizeof *numbers, n = 0;
        while (n < known && strcmp(argv[i], numbers[n].name) != 0) {
            n++;
        }
        if (n == known) {
            return refuse("an unknown argument", argv[i]);
        }
        *numbers[n].value = strtoull(value, NULL, 0);
    }
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, (int)counts_fd, 0);
    if (counts == MAP_FAILED) {
        return refuse("no memory to count in", "counts");
    }
    if (!owner_watch((int)watch_fd, (pid_t)owner)) {
        return refuse("no thread", "watch");
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
