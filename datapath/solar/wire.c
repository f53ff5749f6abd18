/*
 * datapath/solar/wire.c - see wire.h.
 */
#include "datapath/solar/wire.h"

#include <assert.h>
#include <string.h>

#include "datapath/solar/bytes.h"

#define OFFSET_OF_QP    8
#define OFFSET_OF_PLACE 12
#define OFFSET_OF_PSN   20
#define OFFSET_OF_TAG   24
#define ECHO_DUPLICATE  0x80
#define DATAGRAM_TAIL   16 /* what the tag covers beside the bytes: psn, length, payload's hash */

uint64_t wire_expand(uint32_t low, uint64_t near)
{
    int32_t distance = (int32_t)(low - (uint32_t)near);
    if (distance < 0 && near < (uint64_t) - (int64_t)distance)
        return near + (uint32_t)distance; /* below 0: the next turn */
    return near + (uint64_t)(int64_t)distance;
}

uint32_t wire_ticks(int64_t now_ns)
{
    return (uint32_t)((uint64_t)now_ns / WIRE_TICK_NS) % WIRE_TICKS;
}

uint8_t wire_away(int64_t away_ns)
{
    int64_t units = away_ns / WIRE_AWAY_NS;
    return units < 0 ? 0 : units > UINT8_MAX ? UINT8_MAX : (uint8_t)units;
}

int64_t wire_ticks_since(uint32_t sent_ticks, int64_t now_ns)
{
    uint32_t ticks = (wire_ticks(now_ns) - sent_ticks) % WIRE_TICKS;
    return ticks < WIRE_TICKS / 2 ? (int64_t)ticks * WIRE_TICK_NS : 0;
}

/* Types by their number; a row without a name is none. */
static const struct {
    const char *name;
    bool control, may_start, has_payload;
} types[] = {
    [WIRE_WRITE] = {"write", false, true, true},
    [WIRE_SEND] = {"send", false, true, true},
    [WIRE_READ] = {"read", false, true, false},
    [WIRE_READ_DATA] = {"read-data", false, true, true},
    [WIRE_ACK] = {"ack", true, false, false},
    [WIRE_PROBE] = {"probe", true, true, false},
    [WIRE_CREDIT] = {"credit", true, false, false},
    [WIRE_NAK] = {"nak", true, false, false},
};

#define TYPES (sizeof(types) / sizeof(types[0]))

bool wire_is_control(enum wire_type type)
{
    return types[type].control;
}

const char *wire_type_name(enum wire_type type)
{
    return types[type].name;
}

enum err_code wire_peek(const uint8_t *data, size_t len, uint16_t *out_qp, struct err *err)
{
    if (len < WIRE_HEADER_SIZE || len > WIRE_PACKET_MAX)
        return err_set(err, ERR_INVALID, "a packet of %zu bytes (has %d to %d)", len,
                       WIRE_HEADER_SIZE, WIRE_PACKET_MAX);
    if (data[0] >> 5 != WIRE_VERSION)
        return err_set(err, ERR_INVALID, "a packet of version %d (this is version %d)",
                       data[0] >> 5, WIRE_VERSION);
    unsigned type = data[0] & 31u;
    if (type >= TYPES || types[type].name == NULL)
        return err_set(err, ERR_INVALID, "a packet of the unknown type %u", type);
    *out_qp = (uint16_t)bytes_get(data + OFFSET_OF_QP, 2);
    return ERR_OK;
}

static size_t extension_size(enum wire_type type, uint8_t flags)
{
    if (type == WIRE_ACK)
        return WIRE_ACK_SIZE;
    if (type == WIRE_CREDIT)
        return WIRE_CREDIT_SIZE;
    return (flags & WIRE_F_START) != 0 ? WIRE_START_SIZE : 0;
}

static bool is_covered(uint8_t flags, size_t payload_len)
{
    return payload_len <= WIRE_COVER_MAX || (flags & WIRE_F_COVER) != 0;
}

/* The hash of header (its tag counted as 0), extension, whole psn, length and payload's hash. */
static void tag_of(const struct wire_keys *keys, const uint8_t *head, size_t head_len, uint64_t psn,
                   const uint8_t *payload, size_t payload_len, uint8_t tag[SIP_SIZE])
{
    uint8_t text[WIRE_HEAD_MAX + DATAGRAM_TAIL + SIP_SIZE];
    uint8_t *p = memcpy(text, head, head_len);
    memset(text + OFFSET_OF_TAG, 0, SIP_SIZE);
    p = bytes_put(p + head_len, psn, 8);
    p = bytes_put(p, payload_len, 8);
    if (payload_len > 0 && is_covered(head[1], payload_len))
        mac_sip(keys->payload, payload, payload_len, p);
    else
        memset(p, 0, SIP_SIZE);
    mac_sip(keys->header, text, head_len + sizeof(text) - WIRE_HEAD_MAX, tag);
}

static void decode_start(const uint8_t *p, struct wire_start *out)
{
    out->length = (uint32_t)bytes_get(p, 4);
    out->immediate = (uint32_t)bytes_get(p + 4, 4);
    out->demand_kib = (uint32_t)bytes_get(p + 8, 3);
    out->away = p[11];
}

static void decode_credit(const uint8_t *p, struct wire_ack *out)
{
    out->credit_bytes = bytes_get(p, 8);
    out->weight_total = (uint32_t)bytes_get(p + 8, 4);
}

static void encode_credit(const struct wire_ack *ack, uint8_t *p)
{
    p = bytes_put(p, ack->credit_bytes, 8);
    bytes_put(p, ack->weight_total, 4);
}

static void decode_ack(const uint8_t *p, uint64_t near, struct wire_ack *out)
{
    out->next_psn = wire_expand((uint32_t)bytes_get(p, 4), near);
    out->sack_base = wire_expand((uint32_t)bytes_get(p + 4, 4), near);
    out->sack = bytes_get(p + 8, 8);
    out->echo_psn = wire_expand((uint32_t)bytes_get(p + 16, 4), near);
    out->echo_attempt = (uint8_t)(p[20] & (ECHO_DUPLICATE - 1));
    out->echo_duplicate = (p[20] & ECHO_DUPLICATE) != 0;
    out->echo_ticks = (uint32_t)bytes_get(p + 21, 3);
    out->hold_ns = (uint32_t)bytes_get(p + 24, 4);
    out->queue_ns = (uint32_t)bytes_get(p + 28, 4);
    out->arrived = (uint32_t)bytes_get(p + 32, 4);
    out->marked = (uint32_t)bytes_get(p + 36, 4);
    decode_credit(p + 40, out);
}

static void encode_ack(const struct wire_ack *ack, uint8_t *p)
{
    p = bytes_put(p, ack->next_psn, 4);
    p = bytes_put(p, ack->sack_base, 4);
    p = bytes_put(p, ack->sack, 8);
    p = bytes_put(p, ack->echo_psn, 4);
    p = bytes_put(p, (uint64_t)ack->echo_attempt | (ack->echo_duplicate ? ECHO_DUPLICATE : 0), 1);
    p = bytes_put(p, ack->echo_ticks, 3);
    p = bytes_put(p, ack->hold_ns, 4);
    p = bytes_put(p, ack->queue_ns, 4);
    p = bytes_put(p, ack->arrived, 4);
    p = bytes_put(p, ack->marked, 4);
    encode_credit(ack, p);
}

static void decode_header(const uint8_t *data, const struct wire_near *near,
                          struct wire_packet *out)
{
    out->type = (enum wire_type)(data[0] & 31);
    out->flags = data[1];
    out->path = data[2];
    out->priority = data[3] >> 5;
    out->tensor = data[3] >> 3 & 3;
    out->attempt = data[3] & 7;
    out->label = (uint32_t)bytes_get(data + 4, 4);
    out->qp = (uint16_t)bytes_get(data + OFFSET_OF_QP, 2);
    out->id = (uint16_t)bytes_get(data + OFFSET_OF_QP + 2, 2);
    out->offset = bytes_get(data + OFFSET_OF_PLACE, 5);
    out->sent_ticks = (uint32_t)bytes_get(data + OFFSET_OF_PLACE + 5, 3);
    out->psn = wire_expand((uint32_t)bytes_get(data + OFFSET_OF_PSN, 4),
                           wire_is_control(out->type) ? near->control_psn : near->data_psn);
}

/* What a genuine packet must not say. */
static enum err_code check(const struct wire_packet *p, bool must_cover, struct err *err)
{
    const char *name = wire_type_name(p->type);
    if ((p->flags & ~WIRE_F_ALL) != 0)
        return err_set(err, ERR_INVALID, "%s: unknown flags 0x%02x", name, p->flags);
    if ((p->flags & WIRE_F_START) != 0 && !types[p->type].may_start)
        return err_set(err, ERR_INVALID, "%s: cannot start a message", name);
    if (p->payload_len > 0 && !types[p->type].has_payload)
        return err_set(err, ERR_INVALID, "%s: %zu bytes too many", name, p->payload_len);
    if (must_cover && !is_covered(p->flags, p->payload_len))
        return err_set(err, ERR_INVALID, "%s: %zu bytes that the tag does not cover", name,
                       p->payload_len);
    if (p->type == WIRE_READ && (p->flags & WIRE_F_START) == 0)
        return err_set(err, ERR_INVALID, "%s: does not say how much", name);
    if (p->start.length > WIRE_MESSAGE_MAX)
        return err_set(err, ERR_INVALID, "%s: a message of %u bytes (at most %lld)", name,
                       p->start.length, (long long)WIRE_MESSAGE_MAX);
    if (p->type == WIRE_NAK && (p->id == 0 || p->id > WIRE_NAK_MAX))
        return err_set(err, ERR_INVALID, "%s: unknown reason %u", name, p->id);
    if (p->type == WIRE_ACK &&
        (p->ack.sack_base % 64 != 0 || p->ack.echo_attempt > WIRE_ATTEMPT_MAX))
        return err_set(err, ERR_INVALID, "%s: no bitmap begins at %llu", name,
                       (unsigned long long)p->ack.sack_base);
    return ERR_OK;
}

enum err_code wire_open(const struct wire_keys *keys, const struct wire_near *near,
                        const uint8_t *data, size_t len, struct wire_packet *out, struct err *err)
{
    uint16_t qp;
    if (wire_peek(data, len, &qp, err) != ERR_OK)
        return ERR_INVALID;
    struct wire_packet packet = {0};
    decode_header(data, near, &packet);
    size_t head_len = WIRE_HEADER_SIZE + extension_size(packet.type, packet.flags);
    if (len < head_len)
        return err_set(err, ERR_INVALID, "%s: cut short at %zu bytes", wire_type_name(packet.type),
                       len);
    packet.payload = data + head_len;
    packet.payload_len = len - head_len;

    uint8_t tag[SIP_SIZE];
    tag_of(keys, data, head_len, packet.psn, packet.payload, packet.payload_len, tag);
    if (!bytes_equal_secret(tag, data + OFFSET_OF_TAG, SIP_SIZE))
        return err_set(err, ERR_DENIED, "%s: the tag is wrong", wire_type_name(packet.type));
    if (packet.type == WIRE_ACK)
        decode_ack(data + WIRE_HEADER_SIZE, near->acked_psn, &packet.ack);
    else if (packet.type == WIRE_CREDIT)
        decode_credit(data + WIRE_HEADER_SIZE, &packet.ack);
    else if ((packet.flags & WIRE_F_START) != 0)
        decode_start(data + WIRE_HEADER_SIZE, &packet.start);
    if (check(&packet, keys->cover, err) != ERR_OK)
        return ERR_INVALID;
    *out = packet;
    return ERR_OK;
}

size_t wire_seal(const struct wire_keys *keys, const struct wire_packet *packet,
                 uint8_t head[WIRE_HEAD_MAX])
{
    assert(packet->priority <= WIRE_PRIORITY_MAX && packet->tensor <= WIRE_TENSOR_MAX &&
           packet->attempt <= WIRE_ATTEMPT_MAX && packet->offset <= WIRE_OFFSET_MAX);
    assert(packet->sent_ticks < WIRE_TICKS && check(packet, false, NULL) == ERR_OK);

    uint8_t *p = bytes_put(head, (uint64_t)(WIRE_VERSION << 5 | (int)packet->type), 1);
    p = bytes_put(p, packet->flags, 1);
    p = bytes_put(p, packet->path, 1);
    p = bytes_put(p, (uint64_t)(packet->priority << 5 | packet->tensor << 3 | packet->attempt), 1);
    p = bytes_put(p, packet->label, 4);
    p = bytes_put(p, packet->qp, 2);
    p = bytes_put(p, packet->id, 2);
    p = bytes_put(p, packet->offset, 5);
    p = bytes_put(p, packet->sent_ticks, 3);
    p = bytes_put(p, packet->psn, 4);
    p += SIP_SIZE;
    if (packet->type == WIRE_ACK) {
        encode_ack(&packet->ack, p);
    } else if (packet->type == WIRE_CREDIT) {
        encode_credit(&packet->ack, p);
    } else if ((packet->flags & WIRE_F_START) != 0) {
        p = bytes_put(p, packet->start.length, 4);
        p = bytes_put(p, packet->start.immediate, 4);
        p = bytes_put(p, packet->start.demand_kib, 3);
        bytes_put(p, packet->start.away, 1);
    }
    size_t head_len = WIRE_HEADER_SIZE + extension_size(packet->type, packet->flags);
    tag_of(keys, head, head_len, packet->psn, packet->payload, packet->payload_len,
           head + OFFSET_OF_TAG);
    return head_len;
}

bool wire_window_pass(struct wire_window *window, uint64_t number)
{
    const uint64_t words = WIRE_WINDOW_BITS / 64;
    if (number == UINT64_MAX)
        return false;
    if (number >= window->next) {
        uint64_t first = window->next / 64 + (window->next % 64 != 0);
        uint64_t last = number / 64;
        if (last >= first + words)
            first = last - words + 1;
        for (uint64_t word = first; word <= last; word++)
            window->bits[word % words] = 0;
        window->next = number + 1;
    } else if (number / 64 + words <= (window->next - 1) / 64) {
        return false;
    }
    uint64_t bit = UINT64_C(1) << number % 64;
    uint64_t *word = &window->bits[number / 64 % words];
    bool fresh = (*word & bit) == 0;
    *word |= bit;
    return fresh;
}
