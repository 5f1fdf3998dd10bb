/* The meter's Arduino in simavr, with an INA219 or INA226 on its I2C bus and a board's trigger pin at D8.
 *
 *   inaboard ELF 219|226 ADDRESS CONVERSION_US IDLE ACTIVE BUS < SCRIPT > BYTES
 *
 * The chip's shunt register shows ACTIVE while the pin is high and IDLE while it is low, averaged over a
 * conversion. A line of the script is `MICROSECONDS pin 0`, `… pin 1` or `… send HEX`; the simulation ends with
 * the last. What the meter has sent goes to standard output, as it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <simavr/avr_ioport.h>

#include "board.h"

enum { CLOCK_HZ = 16000000, CYCLES_PER_US = CLOCK_HZ / 1000000, MOST_EDGES = 4096 };
enum { TWBR = 0xb8, TWSR = 0xb9, TWDR = 0xbb, TWCR = 0xbc };
enum { TWINT = 0x80, TWEA = 0x40, TWSTA = 0x20, TWSTO = 0x10, TWEN = 0x04 };
enum { CONFIGURATION = 0, SHUNT = 1, BUS = 2, POWER = 3, MASK = 6, REGISTERS = 8 };

static struct board board;

static struct {
    uint64_t cycle[MOST_EDGES];
    unsigned count; /* the pin is low at first, and changes at each */
} edges;

static struct {
    int kind;
    uint8_t address;
    uint64_t conversion; /* cycles, of the shunt and of the bus alike */
    int idle, active;
    uint16_t registers[REGISTERS];
    uint64_t began, done;
    bool ready;

    bool selected;
    unsigned written, read; /* bytes since the bus was claimed */
    uint8_t pointer, high;
} chip;

static uint64_t high_until(uint64_t cycle)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < edges.count && edges.cycle[i] < cycle; i += 2) {
        uint64_t end = i + 1 < edges.count && edges.cycle[i + 1] < cycle ? edges.cycle[i + 1] : cycle;
        total += end - edges.cycle[i];
    }
    return total;
}

/* The registers hold the last conversion that is complete: of the shunt first, of the bus after it. */
static void convert(void)
{
    uint64_t both = 2 * chip.conversion;
    uint64_t complete = (board.avr->cycle - chip.began) / both;
    if (complete == chip.done)
        return;
    chip.done = complete;
    chip.ready = true;
    uint64_t from = chip.began + (complete - 1) * both, to = from + chip.conversion;
    double share = (double)(high_until(to) - high_until(from)) / (double)chip.conversion;
    chip.registers[SHUNT] = (uint16_t)(int)(chip.idle + (chip.active - chip.idle) * share);
}

static uint16_t value_of(uint8_t which)
{
    convert();
    uint16_t value = chip.registers[which % REGISTERS];
    if (chip.kind == 219 && which == BUS)
        value |= (uint16_t)(chip.ready << 1);
    if (chip.kind == 226 && which == MASK)
        value |= (uint16_t)(chip.ready << 3);
    if (which == (chip.kind == 219 ? POWER : MASK))
        chip.ready = false;
    return value;
}

static void store(uint8_t byte)
{
    if (chip.written == 0)
        chip.pointer = byte;
    else if (chip.written == 1)
        chip.high = byte;
    else {
        chip.registers[chip.pointer % REGISTERS] = (uint16_t)(chip.high << 8 | byte);
        if (chip.pointer == CONFIGURATION) { /* writing it begins a conversion anew */
            chip.began = board.avr->cycle;
            chip.done = 0;
            chip.ready = false;
        }
    }
    chip.written++;
}

static uint8_t fetch(void)
{
    static uint16_t latched;
    if (chip.read == 0)
        latched = value_of(chip.pointer);
    return (uint8_t)(chip.read++ == 0 ? latched >> 8 : latched);
}

/* ---- the I2C bus ----
 *
 * The two-wire interface as master, after its chapter in the ATmega48A-328P data sheet. simavr's own leaves
 * TWINT standing and takes no time for an address, so only its addresses of registers are of use. */

static struct {
    enum { FREE, ADDRESS, WRITING, READING } phase;
    uint8_t status; /* when the step that is under way has ended */
} bus;

static avr_cycle_count_t on_step(avr_t *avr, avr_cycle_count_t when, void *param)
{
    (void)when, (void)param;
    avr->data[TWSR] = bus.status;
    avr->data[TWCR] |= TWINT;
    return 0;
}

static uint8_t address_step(avr_t *avr)
{
    uint8_t byte = avr->data[TWDR];
    bool reading = byte & 1;
    chip.selected = byte >> 1 == chip.address;
    chip.written = chip.read = 0;
    bus.phase = reading ? READING : WRITING;
    if (reading)
        return chip.selected ? 0x40 : 0x48;
    return chip.selected ? 0x18 : 0x20;
}

static uint8_t data_step(avr_t *avr, bool acknowledge)
{
    if (bus.phase == WRITING) {
        if (chip.selected)
            store(avr->data[TWDR]);
        return chip.selected ? 0x28 : 0x30;
    }
    avr->data[TWDR] = chip.selected ? fetch() : 0xff;
    return acknowledge ? 0x50 : 0x58;
}

static void on_control(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param)
{
    (void)param;
    avr->data[address] = value & (uint8_t) ~(TWINT | TWSTO);
    if (!(value & TWEN) || value & TWSTO) {
        bus.phase = FREE;
        avr->data[TWSR] = 0xf8;
        avr_cycle_timer_cancel(avr, on_step, NULL);
        return;
    }
    if (!(value & TWINT))
        return;
    unsigned bits = 9;
    if (value & TWSTA) {
        bus.status = bus.phase == FREE ? 0x08 : 0x10;
        bus.phase = ADDRESS;
        bits = 1;
    } else {
        bus.status = bus.phase == ADDRESS ? address_step(avr) : data_step(avr, value & TWEA);
    }
    avr_cycle_timer_register(avr, bits * (16u + 2u * avr->data[TWBR]), on_step, NULL);
}

static void plain(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param)
{
    (void)param;
    avr->data[address] = value;
}

static void attach_bus(void)
{
    board.avr->io[AVR_DATA_TO_IO(TWCR)].w.c = on_control;
    board.avr->io[AVR_DATA_TO_IO(TWDR)].w.c = plain;
    board.avr->io[AVR_DATA_TO_IO(TWDR)].r.c = NULL;
}

/* ---- the rest ---- */

static void set_pin(bool high)
{
    if (high != edges.count % 2 && edges.count < MOST_EDGES)
        edges.cycle[edges.count++] = board.avr->cycle;
    avr_raise_irq(avr_io_getirq(board.avr, AVR_IOCTL_IOPORT_GETIRQ('B'), 0), high);
}

static void send(const char *hex)
{
    unsigned byte;
    for (; sscanf(hex, "%2x", &byte) == 1; hex += 2) {
        uint8_t octet = (uint8_t)byte;
        usart_write(&board.usart, &octet, 1);
    }
}

int main(int count, char **words)
{
    if (count != 8) {
        fputs("usage: inaboard ELF 219|226 ADDRESS CONVERSION_US IDLE ACTIVE BUS\n", stderr);
        return 2;
    }
    if (!board_make(&board, "atmega328p", CLOCK_HZ, words[1], '0', "B5"))
        return 1;
    chip.kind = atoi(words[2]);
    chip.address = (uint8_t)strtol(words[3], NULL, 0);
    chip.conversion = (uint64_t)atoi(words[4]) * CYCLES_PER_US;
    chip.idle = atoi(words[5]);
    chip.active = atoi(words[6]);
    chip.registers[BUS] = (uint16_t)atoi(words[7]);
    attach_bus();
    char what[8], rest[600];
    unsigned long long at;
    while (scanf("%llu %7s %599s", &at, what, rest) == 3) {
        uint64_t until = at * CYCLES_PER_US;
        if (until > board.avr->cycle)
            board_run(&board, 0, until - board.avr->cycle, false);
        if (board.fault[0]) {
            fprintf(stderr, "the meter stopped at %#x: %s\n", board.fault_pc, board.fault);
            return 1;
        }
        if (!strcmp(what, "pin"))
            set_pin(rest[0] == '1');
        else if (!strcmp(what, "send"))
            send(rest);
    }
    const struct bytes *sent = &board.usart.arrived;
    fwrite(sent->data + sent->first, 1, bytes_count(sent), stdout);
    return 0;
}
