/*
 * tests/fuzz/fuzz_datapath_solar_wire.c - datagrams of the transport, as they are and with a tag
 * that fits, so that what stands behind the tag is reached: what opens is in range and seals to the
 * same bytes. The first byte chooses: even = as it is.
 */
#include "tests/fuzz/fuzz.h"

#include "datapath/solar/hello.h"
#include "datapath/solar/wire.h"

static const unsigned char job_key[MAC_KEY_SIZE];
static const struct wire_keys keys;
static const struct wire_near near = {.data_psn = 1000, .control_psn = 5, .acked_psn = 2000};

static bool reseals(const struct wire_packet *p, const uint8_t *data, size_t len)
{
    uint8_t head[WIRE_HEAD_MAX];
    size_t head_len = wire_seal(&keys, p, head);
    return head_len + p->payload_len == len && memcmp(head, data, head_len) == 0;
}

/* Puts the right tag into a packet: what seals it is asked, with the members as they stand. */
static void sign(uint8_t *data, size_t len)
{
    int type = data[0] & 31;
    size_t extension = type == WIRE_ACK                ? WIRE_ACK_SIZE
                       : type == WIRE_CREDIT           ? WIRE_CREDIT_SIZE
                       : (data[1] & WIRE_F_START) != 0 ? WIRE_START_SIZE
                                                       : 0;
    size_t head_len = WIRE_HEADER_SIZE + extension;
    if (len < head_len)
        return;
    bool control = type >= WIRE_ACK && type <= WIRE_NAK;
    uint32_t low =
        (uint32_t)data[20] << 24 | (uint32_t)data[21] << 16 | (uint32_t)data[22] << 8 | data[23];
    uint64_t psn = wire_expand(low, control ? near.control_psn : near.data_psn);
    uint8_t text[WIRE_HEAD_MAX + 24] = {0};
    memcpy(text, data, head_len);
    memset(text + 24, 0, SIP_SIZE);
    uint64_t payload_len = len - head_len;
    for (int i = 0; i < 8; i++) {
        text[head_len + (size_t)i] = (uint8_t)(psn >> (56 - 8 * i));
        text[head_len + 8 + (size_t)i] = (uint8_t)(payload_len >> (56 - 8 * i));
    }
    if (payload_len > 0 && (payload_len <= WIRE_COVER_MAX || (data[1] & WIRE_F_COVER) != 0))
        mac_sip(keys.payload, data + head_len, payload_len, text + head_len + 16);
    mac_sip(keys.header, text, head_len + 24, data + 24);
}

static void check_packet(const uint8_t *data, size_t len)
{
    uint16_t qp;
    struct wire_packet p;
    if (wire_open(&keys, &near, data, len, &p, NULL) != ERR_OK)
        return;
    must(wire_peek(data, len, &qp, NULL) == ERR_OK && qp == p.qp);
    must(wire_type_name(p.type) != NULL && p.offset <= WIRE_OFFSET_MAX);
    must(p.start.length <= WIRE_MESSAGE_MAX && p.payload_len <= len);
    must(reseals(&p, data, len));
}

static void check_hello(const uint8_t *data, size_t len)
{
    struct hello h;
    uint8_t refusal[HELLO_SIZE], none[HELLO_SIZE];
    int version = WIRE_VERSION;
    if (hello_refuse(data, len, refusal))
        must(hello_is(refusal, HELLO_SIZE) && !hello_refuse(refusal, HELLO_SIZE, none));
    if (hello_is_refused(data, len, refusal + 24, &version))
        must(version != WIRE_VERSION);
    if (hello_open(job_key, data, len, &h, NULL) != ERR_OK)
        return;
    uint8_t again[HELLO_SIZE];
    hello_seal(job_key, &h, again);
    must(memcmp(again, data, HELLO_SIZE) == 0);
    must(h.paths > 0 && h.paths <= HELLO_PATHS_MAX && h.payload_max >= HELLO_PAYLOAD_MIN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool signs = (data[0] & 1) != 0;
    size_t len = size - 1;
    uint8_t *copy = malloc(len > 0 ? len : 1);
    must(copy != NULL);
    memcpy(copy, data + 1, len);
    if (signs && hello_is(copy, len))
        mac_sha256(job_key, copy, HELLO_SIZE - MAC_SIZE, copy + HELLO_SIZE - MAC_SIZE);
    else if (signs && len >= WIRE_HEADER_SIZE)
        sign(copy, len);
    check_packet(copy, len);
    check_hello(copy, len);
    free(copy);
    return 0;
}
