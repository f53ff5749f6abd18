#pragma once
/*
 * datapath/solar/hello.h - how two queue pairs meet: three datagrams of one size, and the keys that
 * follow from them; and how one of another version is refused. Pure: nonces, keys and time are
 * arguments.
 *
 *   initiator  HELLO   (its nonce)                 ->  responder
 *              WELCOME (both nonces, its queue pair) <-
 *              READY   (both nonces)               ->  now the responder may send
 *
 *    0 version:3 type:5 | flags:8 | paths:8 | 0:8
 *    4 label:32
 *    8 qp_to:16 | qp_from:16 | payload_max:16 | 0:16
 *   16 epoch:64         which key of the job
 *   24 nonce of the initiator (16 bytes), of the responder (16 bytes, 0 in a HELLO)
 *   56 credit:64
 *   64 tag (32 bytes, HMAC-SHA-256 under the job's key)
 *
 * An answer is as long as what asks for it, so nobody can use a responder to amplify. Without the
 * job's key nothing of this version is answered. A recorded WELCOME or READY fails because of the
 * other side's fresh nonce (hello_answers); a recorded HELLO makes a responder send one WELCOME and
 * hold one half-open entry, of which it holds a bounded number for a bounded time. Both sides
 * derive keys of the two directions from the job's key and both nonces: packets of another
 * connection never fit.
 *
 * Of all versions are: the size, the first byte, HELLO_ASK and HELLO_REFUSE, and where the nonce of
 * the initiator stands. A HELLO of another version is answered by
 *
 *    0 version:3 of who refuses, type:5 | 0 ... | 24 nonce of the initiator | 0 ... (HELLO_SIZE)
 *
 * which has no tag, as what is signed in another version cannot be known: it proves only that who
 * made it saw the HELLO, and is a hint for the text that its user gets at the end of the time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mac.h"
#include "datapath/solar/wire.h"

#define HELLO_SIZE        96
#define HELLO_NONCE_SIZE  16
#define HELLO_PATHS_MAX   64 /* source ports of a queue pair */
#define HELLO_PAYLOAD_MIN 512
#define HELLO_PAYLOAD_MAX 8900

enum hello_type { HELLO_ASK = 16, HELLO_WELCOME, HELLO_READY, HELLO_REFUSE };

struct hello {
    enum hello_type type; /* not HELLO_REFUSE */
    bool cover;           /* this side demands WIRE_F_COVER */
    uint8_t paths;        /* 1 to HELLO_PATHS_MAX */
    uint32_t label;
    uint16_t qp_to, qp_from;
    uint16_t payload_max; /* bytes, HELLO_PAYLOAD_MIN to _MAX; the lesser of both counts */
    uint64_t epoch;
    uint8_t nonce_initiator[HELLO_NONCE_SIZE], nonce_responder[HELLO_NONCE_SIZE];
    uint64_t credit_bytes; /* what the other side may send before the first acknowledgement */
};

/* Is this datagram of the handshake (of any version)? Trusts nothing else. */
bool hello_is(const uint8_t *data, size_t len);

/* Whose key is needed: label and epoch. ERR_INVALID = not HELLO_SIZE bytes, or a refusal, which has
 * neither; ERR_UNSUPPORTED = of another version, which the text names. */
ERR_MUST_CHECK enum err_code hello_peek(const uint8_t *data, size_t len, uint32_t *out_label,
                                        uint64_t *out_epoch, struct err *err);

/* ERR_DENIED = the tag is wrong (checked before the content); else as hello_peek. */
ERR_MUST_CHECK enum err_code hello_open(const unsigned char job_key[MAC_KEY_SIZE],
                                        const uint8_t *data, size_t len, struct hello *out,
                                        struct err *err);
void hello_seal(const unsigned char job_key[MAC_KEY_SIZE], const struct hello *hello,
                uint8_t out[HELLO_SIZE]);

/* Is `answer` one to `mine` and to no other: type, label, epoch, queue pair and nonces? */
bool hello_answers(const struct hello *answer, const struct hello *mine);

/* The refusal of a HELLO of another version; false = it is none, and nothing is to be answered. */
bool hello_refuse(const uint8_t *data, size_t len, uint8_t out[HELLO_SIZE]);
/* Is this a refusal of the HELLO with that nonce, by another version? Which? */
bool hello_is_refused(const uint8_t *data, size_t len, const uint8_t nonce[HELLO_NONCE_SIZE],
                      int *out_version);

/* The keys of one direction, after a WELCOME or READY (the same from both). `cover` is not set. */
void hello_keys(const unsigned char job_key[MAC_KEY_SIZE], const struct hello *hello,
                bool from_initiator, struct wire_keys *out);
