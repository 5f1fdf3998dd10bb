#include "usart.h"

enum {
    FRAME_ERROR = 0x100,
    /* UCSRnA, UCSRnC and UCSRnB bits, the same on every AVR that has them in registers of their own. */
    TXC = 0x40,
    U2X_MPCM = 0x03,
    RXB8 = 0x02,
    PARITY = 0x30,
    /* A receiver copes with about 4 % between the two clocks in 10-bit frames ("Asynchronous Operational Range"). */
    TOLERATED_PERCENT = 4,
    HOST_FRAME_BITS = 10,
};

/* ---- frames ---- */

static uint32_t device_bit(const struct usart *u)
{
    const avr_uart_t *r = u->registers;
    uint32_t divider = avr_regbit_get(u->avr, r->ubrrl) | (uint32_t)avr_regbit_get(u->avr, r->ubrrh) << 8;
    return (divider + 1) * (avr_regbit_get(u->avr, r->u2x) ? 8 : 16);
}

static uint32_t device_frame(const struct usart *u)
{
    static const uint8_t data_bits[8] = {5, 6, 7, 8, 8, 8, 8, 9};
    const avr_uart_t *r = u->registers;
    unsigned size = avr_regbit_get(u->avr, r->ucsz) | avr_regbit_get(u->avr, r->ucsz2) << 2;
    unsigned parity = (u->avr->data[r->r_ucsrc] & PARITY) >= 0x20;
    return device_bit(u) * (1 + data_bits[size] + parity + 1 + avr_regbit_get(u->avr, r->usbs));
}

static uint32_t host_frame(const struct usart *u)
{
    if (!u->host_baud)
        return device_bit(u) * HOST_FRAME_BITS;
    return (uint32_t)(((uint64_t)u->avr->frequency * HOST_FRAME_BITS + u->host_baud / 2) / u->host_baud);
}

/* The host always speaks 8N1; firmware with another format or rate must fail here as it would on the desk. */
static bool understood(const struct usart *u)
{
    const avr_uart_t *r = u->registers;
    if (avr_regbit_get(u->avr, r->ucsz) != 3 || avr_regbit_get(u->avr, r->ucsz2) ||
        (u->avr->data[r->r_ucsrc] & PARITY))
        return false;
    int64_t host = host_frame(u), device = (int64_t)device_bit(u) * HOST_FRAME_BITS;
    int64_t off = host > device ? host - device : device - host;
    return off * 100 <= device * TOLERATED_PERCENT;
}

/* ---- interrupt requests ---- */

/* simavr keeps requests in a queue and leaves a withdrawn one there; SLEEP then refuses to sleep for it. */
static void withdraw(avr_t *avr, avr_int_vector_t *vector)
{
    avr_int_pending_t *queue = &avr->interrupts.pending;
    const unsigned mask = avr_int_pending_fifo_size - 1;
    unsigned to = queue->read;
    for (unsigned from = queue->read; from != queue->write; from = (from + 1) & mask)
        if (queue->buffer[from] != vector) {
            queue->buffer[to] = queue->buffer[from];
            to = (to + 1) & mask;
        }
    queue->write = (uint16_t)to;
    vector->pending = 0;
    if (queue->read == queue->write && avr->interrupt_state > 0)
        avr->interrupt_state = 0;
}

static void request(avr_t *avr, avr_int_vector_t *vector, bool flag)
{
    avr_regbit_setto(avr, vector->raised, flag);
    bool wanted = flag && avr_regbit_get(avr, vector->enable);
    if (wanted && !vector->pending)
        avr_raise_interrupt(avr, vector);
    else if (!wanted && vector->pending)
        withdraw(avr, vector);
}

void usart_refresh(struct usart *u)
{
    avr_uart_t *r = u->registers;
    avr_regbit_setto(u->avr, r->fe, u->held && (u->fifo[0] & FRAME_ERROR));
    request(u->avr, &r->rxc, u->held > 0);
    request(u->avr, &r->udrc, !u->buffered);
    request(u->avr, &r->txc, avr_regbit_get(u->avr, r->txc.raised));
}

/* ---- the receiver ---- */

static void start_bit(struct usart *u)
{
    if (!u->shift_full)
        return;
    u->shift_full = false;
    u->overruns++;
    avr_regbit_set(u->avr, u->registers->dor);
}

static avr_cycle_count_t frame_received(avr_t *avr, avr_cycle_count_t when, void *param)
{
    struct usart *u = param;
    uint16_t byte = bytes_take(&u->line);
    if (!understood(u))
        byte = FRAME_ERROR;
    if (avr_regbit_get(avr, u->registers->rxen)) {
        if (u->held < USART_FIFO) {
            u->fifo[u->held++] = byte;
        } else {
            u->shift = byte;
            u->shift_full = true;
        }
        usart_refresh(u);
    }
    u->receiving = bytes_count(&u->line) > 0;
    if (!u->receiving)
        return 0;
    start_bit(u);
    return when + host_frame(u);
}

void usart_write(struct usart *u, const uint8_t *data, size_t count)
{
    bytes_append(&u->line, data, count);
    if (u->receiving || !count)
        return;
    u->receiving = true;
    start_bit(u);
    avr_cycle_timer_register(u->avr, host_frame(u), frame_received, u);
}

void usart_drop_line(struct usart *u)
{
    bytes_clear(&u->line);
    u->receiving = false;
    avr_cycle_timer_cancel(u->avr, frame_received, u);
}

static uint8_t read_udr(avr_t *avr, avr_io_addr_t address, void *param)
{
    struct usart *u = param;
    (void)address;
    if (!u->held)
        return 0;
    uint8_t byte = (uint8_t)u->fifo[0];
    u->fifo[0] = u->fifo[1];
    u->held--;
    if (u->shift_full) {
        u->fifo[u->held++] = u->shift;
        u->shift_full = false;
    }
    avr_regbit_clear(avr, u->registers->dor);
    usart_refresh(u);
    return byte;
}

/* ---- the transmitter ---- */

static avr_cycle_count_t frame_sent(avr_t *avr, avr_cycle_count_t when, void *param)
{
    struct usart *u = param;
    uint8_t byte = understood(u) ? u->sent_byte : 0;
    bytes_append(&u->arrived, &byte, 1);
    u->sending = u->buffered;
    u->sent_byte = u->buffered_byte;
    u->buffered = false;
    if (!u->sending)
        avr_regbit_set(avr, u->registers->txc.raised);
    usart_refresh(u);
    return u->sending ? when + device_frame(u) : 0;
}

static void write_udr(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param)
{
    struct usart *u = param;
    (void)address;
    if (!avr_regbit_get(avr, u->registers->txen) || u->buffered)
        return;
    if (u->sending) {
        u->buffered = true;
        u->buffered_byte = value;
        usart_refresh(u);
    } else {
        u->sending = true;
        u->sent_byte = value;
        avr_cycle_timer_register(avr, device_frame(u), frame_sent, u);
    }
}

/* ---- control registers ---- */

static void write_ucsra(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param)
{
    struct usart *u = param;
    uint8_t flags = avr->data[address] & (uint8_t)~U2X_MPCM;
    if (value & TXC) /* cleared by writing a one */
        flags &= (uint8_t)~TXC;
    avr->data[address] = flags | (value & U2X_MPCM);
    usart_refresh(u);
}

static void write_ucsrb(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param)
{
    struct usart *u = param;
    avr->data[address] = (uint8_t)((value & ~RXB8) | (avr->data[address] & RXB8));
    if (!avr_regbit_get(avr, u->registers->rxen)) { /* disabling the receiver flushes it at once */
        u->held = 0;
        u->shift_full = false;
        avr_regbit_clear(avr, u->registers->dor);
    }
    usart_refresh(u);
}

static struct usart *the_usart; /* a board has one; simavr's reset hook carries no parameter of ours */

static void reset(avr_io_t *io)
{
    struct usart *u = the_usart;
    avr_uart_t *r = (avr_uart_t *)io;
    u->held = 0;
    u->shift_full = u->sending = u->buffered = false;
    u->avr->data[r->r_ucsrc] = 0x06; /* 8N1 after reset */
    usart_drop_line(u);
    usart_refresh(u);
}

static void own(struct usart *u, avr_io_addr_t address, avr_io_read_t read, avr_io_write_t write)
{
    avr_io_addr_t index = AVR_DATA_TO_IO(address);
    u->avr->io[index].r.c = read;
    u->avr->io[index].r.param = u;
    u->avr->io[index].w.c = write;
    u->avr->io[index].w.param = u;
}

bool usart_attach(struct usart *u, avr_t *avr, char name)
{
    u->avr = avr;
    for (avr_io_t *io = avr->io_port; io; io = io->next)
        if (!strcmp(io->kind, "uart") && ((avr_uart_t *)io)->name == name)
            u->registers = (avr_uart_t *)io;
    if (!u->registers)
        return false;
    avr_uart_t *r = u->registers;
    the_usart = u;
    r->io.reset = reset;
    own(u, r->r_udr, read_udr, write_udr);
    own(u, r->r_ucsra, NULL, write_ucsra);
    own(u, r->r_ucsrb, NULL, write_ucsrb);
    own(u, r->ubrrl.reg, NULL, NULL);
    return true;
}
