/*
 * datapath/solar/hello.c - see hello.h.
 */
#include "datapath/solar/hello.h"

#include <assert.h>
#include <string.h>

#include "datapath/solar/bytes.h"

#define OFFSET_OF_TAG   (HELLO_SIZE - MAC_SIZE)
#define OFFSET_OF_NONCE 24
#define F_COVER         1
#define KEYS_WORDS      "stellar solar keys"

bool hello_is(const uint8_t *data, size_t len)
{
    return len == HELLO_SIZE && (data[0] & 31) >= HELLO_ASK && (data[0] & 31) <= HELLO_REFUSE;
}

enum err_code hello_peek(const uint8_t *data, size_t len, uint32_t *out_label, uint64_t *out_epoch,
                         struct err *err)
{
    if (!hello_is(data, len))
        return err_set(err, ERR_INVALID, "no handshake: %zu bytes", len);
    if (data[0] >> 5 != WIRE_VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       "the other side speaks version %d of the transport, this one %d; upgrade "
                       "the older",
                       data[0] >> 5, WIRE_VERSION);
    if ((data[0] & 31) == HELLO_REFUSE)
        return err_set(err, ERR_INVALID, "no handshake: a refusal by the same version");
    *out_label = (uint32_t)bytes_get(data + 4, 4);
    *out_epoch = bytes_get(data + 16, 8);
    return ERR_OK;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
    uint8_t any = 0;
    for (size_t i = 0; i < size; i++)
        any |= bytes[i];
    return any == 0;
}

static enum err_code check(const struct hello *h, struct err *err)
{
    if (h->paths == 0 || h->paths > HELLO_PATHS_MAX)
        return err_set(err, ERR_INVALID, "handshake: %u paths (has 1 to %d)", h->paths,
                       HELLO_PATHS_MAX);
    if (h->payload_max < HELLO_PAYLOAD_MIN || h->payload_max > HELLO_PAYLOAD_MAX)
        return err_set(err, ERR_INVALID, "handshake: payloads of %u bytes (has %d to %d)",
                       h->payload_max, HELLO_PAYLOAD_MIN, HELLO_PAYLOAD_MAX);
    bool asks = h->type == HELLO_ASK;
    if (is_zero(h->nonce_initiator, HELLO_NONCE_SIZE) ||
        is_zero(h->nonce_responder, HELLO_NONCE_SIZE) != asks)
        return err_set(err, ERR_INVALID, "handshake: a nonce is missing or too many");
    return ERR_OK;
}

enum err_code hello_open(const unsigned char job_key[MAC_KEY_SIZE], const uint8_t *data, size_t len,
                         struct hello *out, struct err *err)
{
    struct hello h = {0};
    enum err_code code = hello_peek(data, len, &h.label, &h.epoch, err);
    if (code != ERR_OK)
        return code;
    uint8_t tag[MAC_SIZE];
    mac_sha256(job_key, data, OFFSET_OF_TAG, tag);
    if (!bytes_equal_secret(tag, data + OFFSET_OF_TAG, MAC_SIZE))
        return err_set(err, ERR_DENIED, "handshake of label %u: the tag is wrong", h.label);
    if ((data[1] & ~F_COVER) != 0 || data[3] != 0 || bytes_get(data + 14, 2) != 0)
        return err_set(err, ERR_INVALID, "handshake: unknown flags");
    h.type = (enum hello_type)(data[0] & 31);
    h.cover = (data[1] & F_COVER) != 0;
    h.paths = data[2];
    h.qp_to = (uint16_t)bytes_get(data + 8, 2);
    h.qp_from = (uint16_t)bytes_get(data + 10, 2);
    h.payload_max = (uint16_t)bytes_get(data + 12, 2);
    memcpy(h.nonce_initiator, data + OFFSET_OF_NONCE, HELLO_NONCE_SIZE);
    memcpy(h.nonce_responder, data + OFFSET_OF_NONCE + HELLO_NONCE_SIZE, HELLO_NONCE_SIZE);
    h.credit_bytes = bytes_get(data + 56, 8);
    if (check(&h, err) != ERR_OK)
        return ERR_INVALID;
    *out = h;
    return ERR_OK;
}

void hello_seal(const unsigned char job_key[MAC_KEY_SIZE], const struct hello *h,
                uint8_t out[HELLO_SIZE])
{
    assert(h->type != HELLO_REFUSE && check(h, NULL) == ERR_OK);
    uint8_t *p = bytes_put(out, (uint64_t)(WIRE_VERSION << 5 | (int)h->type), 1);
    p = bytes_put(p, h->cover ? F_COVER : 0, 1);
    p = bytes_put(p, h->paths, 1);
    p = bytes_put(p, 0, 1);
    p = bytes_put(p, h->label, 4);
    p = bytes_put(p, h->qp_to, 2);
    p = bytes_put(p, h->qp_from, 2);
    p = bytes_put(p, h->payload_max, 2);
    p = bytes_put(p, 0, 2);
    p = bytes_put(p, h->epoch, 8);
    memcpy(p, h->nonce_initiator, HELLO_NONCE_SIZE);
    memcpy(p + HELLO_NONCE_SIZE, h->nonce_responder, HELLO_NONCE_SIZE);
    p = bytes_put(p + 2 * HELLO_NONCE_SIZE, h->credit_bytes, 8);
    mac_sha256(job_key, out, OFFSET_OF_TAG, p);
}

bool hello_answers(const struct hello *answer, const struct hello *mine)
{
    if (answer->label != mine->label || answer->epoch != mine->epoch ||
        answer->qp_to != mine->qp_from || (int)answer->type != (int)mine->type + 1)
        return false;
    bool same = memcmp(answer->nonce_initiator, mine->nonce_initiator, HELLO_NONCE_SIZE) == 0;
    if (mine->type == HELLO_ASK)
        return same;
    return same && memcmp(answer->nonce_responder, mine->nonce_responder, HELLO_NONCE_SIZE) == 0 &&
           answer->qp_from == mine->qp_to;
}

bool hello_refuse(const uint8_t *data, size_t len, uint8_t out[HELLO_SIZE])
{
    if (!hello_is(data, len) || (data[0] & 31) != HELLO_ASK || data[0] >> 5 == WIRE_VERSION)
        return false;
    memset(out, 0, HELLO_SIZE);
    out[0] = WIRE_VERSION << 5 | HELLO_REFUSE;
    memcpy(out + OFFSET_OF_NONCE, data + OFFSET_OF_NONCE, HELLO_NONCE_SIZE);
    return true;
}

bool hello_is_refused(const uint8_t *data, size_t len, const uint8_t nonce[HELLO_NONCE_SIZE],
                      int *out_version)
{
    if (!hello_is(data, len) || (data[0] & 31) != HELLO_REFUSE || data[0] >> 5 == WIRE_VERSION ||
        memcmp(data + OFFSET_OF_NONCE, nonce, HELLO_NONCE_SIZE) != 0)
        return false;
    *out_version = data[0] >> 5;
    return true;
}

void hello_keys(const unsigned char job_key[MAC_KEY_SIZE], const struct hello *h,
                bool from_initiator, struct wire_keys *out)
{
    uint8_t text[sizeof(KEYS_WORDS) + 13 + 2 * HELLO_NONCE_SIZE];
    uint8_t *p = memcpy(text, KEYS_WORDS, sizeof(KEYS_WORDS));
    p = bytes_put(p + sizeof(KEYS_WORDS), from_initiator, 1);
    p = bytes_put(p, h->label, 4);
    p = bytes_put(p, h->epoch, 8);
    memcpy(p, h->nonce_initiator, HELLO_NONCE_SIZE);
    memcpy(p + HELLO_NONCE_SIZE, h->nonce_responder, HELLO_NONCE_SIZE);
    uint8_t both[MAC_SIZE];
    mac_sha256(job_key, text, sizeof(text), both);
    _Static_assert(MAC_SIZE == 2 * SIP_KEY_SIZE, "one hash makes both keys");
    memcpy(out->header, both, SIP_KEY_SIZE);
    memcpy(out->payload, both + SIP_KEY_SIZE, SIP_KEY_SIZE);
    out->cover = false;
}
