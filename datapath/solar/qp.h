#pragma once
/*
 * datapath/solar/qp.h - a queue pair, as the library's own files see it.
 */

#include "datapath/solar/context.h"
#include "datapath/solar/hello.h"
#include "datapath/solar/place.h"
#include "datapath/solar/pump.h"
#include "datapath/solar/track.h"
#include "fleet/histogram.h"

#define QP_SLOTS     4096 /* packets of a direction that may be under way */
#define QP_ACK_EVERY 256  /* packets; after each batch that arrives one is sent anyway */
#define QP_ACKS_MAX  8    /* at a time, when one bitmap does not tell all of a batch */

enum qp_state {
    QP_IDLE,
    QP_ASKING,    /* HELLO sent */
    QP_LISTENING, /* may be taken by a HELLO */
    QP_WELCOMING, /* WELCOME sent */
    QP_OPEN,
    QP_FAILED,
};

/* One that is sent: an operation of this side, or the answer to a peer's read. */
struct message {
    enum wire_type type;
    enum solar_op op;
    bool answer; /* no completion */
    bool all_sent;
    bool answered; /* of a read: all has come */
    bool has_immediate;
    uint8_t tensor;
    uint16_t wire_id;
    uint64_t id;
    struct solar_mr *mr; /* NULL = no bytes */
    uint64_t offset, remote_offset;
    uint32_t length, immediate;
    uint32_t sent_bytes;
    uint64_t start_sum; /* payload of this direction before it */
    uint64_t last_psn;
    int64_t posted_ns; /* 0 = nobody asks how long it takes */
};

struct receive {
    uint64_t id;
    struct solar_mr *mr;
    uint64_t offset;
    uint32_t length;
};

/* A read that the peer asks for. */
struct asked {
    bool used, told; /* told = all before it is in place */
    uint64_t psn, offset;
    uint16_t key, number;
    uint32_t length;
};

struct qp_link {
    struct solar_qp *next;
    bool listed;
};

struct solar_qp {
    struct solar_pd *pd;
    struct solar_context *context;
    struct solar_qp_config config;
    uint16_t number;
    enum qp_state state;
    struct err error;

    /* Opening. */
    struct udp_address peer;
    struct hello hello; /* ours, the last */
    bool initiator;
    int refused_version; /* of the peer, as it says; -1 = it does not */
    bool any_epoch;      /* accepts under each key of the label that the context has */
    int64_t hello_ns, hello_wait_ns, open_deadline_ns;
    struct wire_keys keys_out, keys_in;
    uint16_t peer_number;
    bool cover_out; /* the peer demands it */
    int payload_max;
    int burst; /* packets of a grant: they leave as one datagram */

    /* Sending. */
    struct track track;
    struct pump pump;
    struct track_packet *track_slots;
    struct message *messages; /* ring: first is not complete, next is being sent, end is free */
    uint64_t message_first, message_next, message_end;
    int message_depth; /* a power of two */
    int posted, answers, reads;
    uint16_t send_number, read_number;
    uint64_t control_psn;
    uint64_t asked_bytes; /* payload of what was posted, sum from 0 */
    uint16_t entry;       /* in the arbiter; ARBITER_NONE */
    int64_t ready_ns;     /* when pacing lets it go on; INT64_MAX */
    struct message *read_of[SOLAR_READS_MAX];

    /* Receiving. */
    struct place place;
    struct place_slot *place_slots;
    struct wire_window window;
    struct receive *receives; /* ring, by number */
    uint64_t receive_done, receive_posted;
    struct asked asked[SOLAR_READS_MAX];
    bool unanswered; /* one of them waits for answers before it to be acknowledged */
    uint16_t sender; /* of credit */
    bool untold;     /* messages wait for room in the completion queue */
    bool joined, credit_due;
    int64_t heard_ns, probe_ns; /* of the peer; when it was asked for a sign last */
    int64_t owed_ns;            /* since when it has something to do, if it has */

    struct qp_link ack, kick;
    struct solar_qp_stats stats;
    struct histogram latency; /* of operations, where there is a control page */
};

/* qp.c */
void qp_fail(struct solar_qp *qp, const struct err *why);
void qp_fail_with(struct solar_qp *qp, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Makes what sending and receiving need; keys and peer are set. Fails the queue pair if it cannot.
 */
void qp_open(struct solar_qp *qp, uint64_t credit_bytes);
struct message *qp_message(const struct solar_qp *qp, uint64_t index);
/* A place in the ring for one more message that the peer is to acknowledge. */
struct message *qp_add_message(struct solar_qp *qp, int64_t now_ns);
void qp_list_ack(struct solar_qp *qp);
void qp_list_kick(struct solar_qp *qp);

/* qp_send.c */
void qp_send_grant(struct solar_qp *qp, int64_t bytes, int64_t now_ns);
void qp_send_repairs(struct solar_qp *qp, int64_t now_ns);
void qp_send_next(struct solar_qp *qp, int64_t now_ns); /* enters the next message */
void qp_send_answers(struct solar_qp *qp, int64_t now_ns);
/* Acknowledges if it owes that, else tells of credit. */
void qp_send_ack(struct solar_qp *qp, int64_t now_ns);
void qp_send_nak(struct solar_qp *qp, enum wire_nak why, int64_t now_ns);
void qp_send_probe(struct solar_qp *qp, int64_t now_ns);
void qp_on_ack(struct solar_qp *qp, const struct wire_packet *packet, int64_t now_ns);
void qp_complete(struct solar_qp *qp);

/* qp_receive.c */
void qp_on_packet(struct solar_context *context, const struct udp_arrived *arrived, int64_t now_ns);
void qp_tell(struct solar_qp *qp, int64_t now_ns);
/* Gives the credit that is due to those who send here. */
void qp_grant_all(struct solar_context *context);

/* qp_timer.c */
void qp_on_tick(struct solar_qp *qp, int64_t now_ns);
int64_t qp_deadline_ns(const struct solar_qp *qp);

/* handshake.c */
void handshake_on_packet(struct solar_context *context, const struct udp_arrived *arrived,
                         int64_t now_ns);
void handshake_on_tick(struct solar_qp *qp, int64_t now_ns);
/* A genuine packet came on one that waits for READY. */
void handshake_is_ready(struct solar_qp *qp, int64_t now_ns);
