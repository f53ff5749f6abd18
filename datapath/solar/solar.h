#pragma once
/*
 * datapath/solar/solar.h - libsolar: reliable messages and one-sided access to memory over UDP.
 *
 * The words are those of verbs. A context is an endpoint (sockets, one address); in it stand
 * protection domains, memory regions of a domain, completion queues, and queue pairs of a domain. A
 * queue pair of one process is connected with one of another, under the key of a job:
 *
 *   solar_context_new -> solar_key_set -> solar_pd_new -> solar_mr_new, solar_cq_new, solar_qp_new
 *   -> solar_qp_connect | solar_qp_accept -> solar_post ... solar_cq_poll
 *
 * Threads: there are none inside, and no locks: a context and all that stands in it belong to one
 * thread at a time. Different contexts share nothing. Work goes on only inside solar_post(),
 * solar_progress(), solar_qp_wait() and solar_cq_poll() of its context: also the target of a
 * one-sided operation has to call one of these.
 *
 * Ownership: who calls _new frees, queue pairs before regions and completion queues, these before
 * domains, the context last (asserted). Memory of a region stays the caller's: it must outlive the
 * region, and the bytes of an operation stay as they are until it is complete: they are sent, and
 * repaired, from where they stand, not from a copy.
 *
 * Order: operations of a queue pair complete in the order they were posted. Their bytes are placed
 * as they arrive, in any order. A read sees what was written before it on the same queue pair. What
 * the peer is told (a receive, an immediate) it is told in the order posted, when all bytes of that
 * operation and of those before it are in place.
 *
 * Errors: as base/err.h; outputs are untouched on failure. An error of the queue pair itself ends
 * it: all that is posted completes with that code, solar_qp_error() has the text, and a new queue
 * pair has to be made. Sizes are bytes, times nanoseconds of the monotonic clock, rates bits per
 * second.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SOLAR_API __attribute__((visibility("default")))

#define SOLAR_KEY_SIZE     32
#define SOLAR_PATHS_MAX    64
#define SOLAR_QPS_MAX      1024               /* of a context */
#define SOLAR_REGIONS_MAX  4095               /* of a context */
#define SOLAR_KEYS_MAX     256                /* jobs of a context */
#define SOLAR_DEPTH_MAX    4096               /* operations posted to one side of a queue pair */
#define SOLAR_CQ_MAX       65536              /* completions of a queue */
#define SOLAR_READS_MAX    16                 /* reads of a queue pair that are under way */
#define SOLAR_MESSAGE_MAX  (INT64_C(1) << 30) /* bytes of an operation */
#define SOLAR_REGION_MAX   ((INT64_C(1) << 40) - 1)
#define SOLAR_PAYLOAD_MIN  512 /* bytes of a packet */
#define SOLAR_PAYLOAD_MAX  8900
#define SOLAR_DSCP_MAX     63
#define SOLAR_PRIORITY_MAX 7
#define SOLAR_TENSOR_MAX   3

struct solar_context;
struct solar_pd;
struct solar_mr;
struct solar_cq;
struct solar_qp;

/* 0 is the default in each. */
struct solar_config {
    const char *address;    /* IPv4 or IPv6, numeric; NULL = 127.0.0.1 */
    uint16_t port;          /* 0 = one that is free, see solar_context_port() */
    int paths;              /* source ports that packets are spread over, 1 to SOLAR_PATHS_MAX */
    int payload_max;        /* of a packet; by default what the path's MTU allows */
    int64_t line_bps;       /* of the network device */
    int64_t base_rtt_ns;    /* of the fabric and both hosts' software, without queues */
    int64_t timeout_min_ns; /* a packet is not given up by time before that */
    int64_t dead_ns;        /* without a sign of the peer for so long it counts as gone */
    int64_t spin_ns;        /* solar_progress() looks for so long before it sleeps; -1 = never */
    bool cover;             /* packets to this side carry a tag over their whole payload */
    /* Folder of the node's agent ("/run/stellar/solar"): what its control page says of a label
     * holds, live, and counts what the processes of the node send together; the agent is told what
     * this one does. NULL = by itself. Without a page there, labels are as if it was NULL. Keys
     * that the agent puts there for the label's job are taken, and changed, as it says. */
    const char *control;
    const char *interface; /* whose page; NULL = that which has `address` */
};

/* ERR_INVALID (names the member), ERR_IO (the address is in use, not of this host), ERR_NOMEM. */
SOLAR_API ERR_MUST_CHECK enum err_code
solar_context_new(const struct solar_config *config, struct solar_context **out, struct err *err);
SOLAR_API void solar_context_free(struct solar_context *context);
SOLAR_API uint16_t solar_context_port(const struct solar_context *context);
/* An epoll descriptor that is readable when something arrived. Borrowed. */
SOLAR_API int solar_context_fd(const struct solar_context *context);

/* Does what is due. If nothing was, waits up to timeout_ns (0: not at all): first spinning, then
 * asleep. True = something arrived or completed. */
SOLAR_API bool solar_progress(struct solar_context *context, int64_t timeout_ns);

/* The key of a job, of one epoch: queue pairs of the label can only be opened under it. Replaces
 * one of the same label and epoch. ERR_LIMIT. */
SOLAR_API ERR_MUST_CHECK enum err_code solar_key_set(struct solar_context *context, uint32_t label,
                                                     uint64_t epoch,
                                                     const uint8_t key[SOLAR_KEY_SIZE],
                                                     struct err *err);
/* Queue pairs that are open stay so. */
SOLAR_API void solar_key_drop(struct solar_context *context, uint32_t label, uint64_t epoch);

/* What a label gets of this context's line; live. A label that was not set has weight 1. */
struct solar_share {
    int64_t guarantee_bps; /* 0 = none */
    int64_t limit_bps;     /* 0 = none */
    int weight;            /* 1 to 10000 */
    int dscp;              /* of its packets, 0 to SOLAR_DSCP_MAX */
    int priority;          /* its traffic class, 0 to SOLAR_PRIORITY_MAX */
};
/* ERR_INVALID, ERR_LIMIT; ERR_DENIED = the control page says what the label gets. */
SOLAR_API ERR_MUST_CHECK enum err_code solar_label_set(struct solar_context *context,
                                                       uint32_t label,
                                                       const struct solar_share *share,
                                                       struct err *err);

/* What queue pairs and regions have in common: a peer reaches the regions of its queue pair's
 * domain and no others. */
SOLAR_API ERR_MUST_CHECK enum err_code solar_pd_new(struct solar_context *context,
                                                    struct solar_pd **out, struct err *err);
SOLAR_API void solar_pd_free(struct solar_pd *pd);

enum solar_access {
    SOLAR_LOCAL = 0, /* sends, receives, sources of writes, targets of own reads */
    SOLAR_REMOTE_WRITE = 1,
    SOLAR_REMOTE_READ = 2,
};

/* access = enum solar_access, or-ed. ERR_INVALID, ERR_LIMIT (SOLAR_REGIONS_MAX), ERR_NOMEM. */
SOLAR_API ERR_MUST_CHECK enum err_code solar_mr_new(struct solar_pd *pd, void *memory,
                                                    uint64_t size_bytes, unsigned access,
                                                    struct solar_mr **out, struct err *err);
/* What the peer names the region by; tell it (in a message) with what it may do. */
SOLAR_API uint32_t solar_mr_key(const struct solar_mr *mr);
/* ERR_CONFLICT = operations that are posted use it; it stays. */
SOLAR_API ERR_MUST_CHECK enum err_code solar_mr_free(struct solar_mr *mr, struct err *err);

enum solar_op {
    SOLAR_WRITE = 1,       /* to the peer's region */
    SOLAR_WRITE_IMMEDIATE, /* and the peer is told of it, in its receive queue; costs no receive */
    SOLAR_READ,            /* from the peer's region */
    SOLAR_SEND,            /* to the peer's next receive */
    SOLAR_SEND_IMMEDIATE,
    SOLAR_RECEIVE,
};

struct solar_completion {
    uint64_t id; /* of the operation; 0 of a peer's WRITE_IMMEDIATE */
    struct solar_qp *qp;
    enum solar_op op; /* SOLAR_RECEIVE, or WRITE_IMMEDIATE, in a receive queue */
    enum err_code status;
    uint32_t length; /* bytes that came, of a receive or a peer's write; else of the operation */
    uint32_t immediate;
    bool has_immediate; /* in a receive queue */
};

/* depth: 1 to SOLAR_CQ_MAX. Each operation that is posted holds a place, so that none is lost. */
SOLAR_API ERR_MUST_CHECK enum err_code solar_cq_new(struct solar_context *context, int depth,
                                                    struct solar_cq **out, struct err *err);
SOLAR_API void solar_cq_free(struct solar_cq *cq);
/* Up to `count`, oldest first; makes progress when there are none. Never blocks. */
SOLAR_API int solar_cq_poll(struct solar_cq *cq, struct solar_completion *out, int count);

struct solar_qp_config {
    uint32_t label; /* of the job */
    uint64_t epoch; /* of its key; 0, unless a key of that was set: the agent's present one */
    struct solar_cq *send_cq, *receive_cq; /* borrowed; may be the same */
    int send_depth, receive_depth;         /* 1 to SOLAR_DEPTH_MAX */
};

enum solar_state { SOLAR_IDLE, SOLAR_OPENING, SOLAR_OPEN, SOLAR_FAILED };

/* ERR_INVALID, ERR_LIMIT (SOLAR_QPS_MAX), ERR_NOMEM. */
SOLAR_API ERR_MUST_CHECK enum err_code solar_qp_new(struct solar_pd *pd,
                                                    const struct solar_qp_config *config,
                                                    struct solar_qp **out, struct err *err);
/* The peer is told once, if it is there. What was posted and is not complete is gone, and its
 * completions with it. */
SOLAR_API void solar_qp_free(struct solar_qp *qp);

/* Begin to open; neither blocks. Connect asks the context at the address for one of its queue pairs
 * that accept under the same label and epoch, until timeout_ns is over. ERR_INVALID (address),
 * ERR_CONFLICT (not idle), ERR_NOT_FOUND (no key of the label and epoch). */
SOLAR_API ERR_MUST_CHECK enum err_code solar_qp_connect(struct solar_qp *qp, const char *address,
                                                        uint16_t port, int64_t timeout_ns,
                                                        struct err *err);
SOLAR_API ERR_MUST_CHECK enum err_code solar_qp_accept(struct solar_qp *qp, struct err *err);
/* Makes progress until it is open. ERR_UNAVAILABLE = not within timeout_ns, or it failed so;
 * ERR_UNSUPPORTED = it failed, and the peer said that it speaks another version. */
SOLAR_API ERR_MUST_CHECK enum err_code solar_qp_wait(struct solar_qp *qp, int64_t timeout_ns,
                                                     struct err *err);
SOLAR_API enum solar_state solar_qp_state(const struct solar_qp *qp);
/* Why it failed; code ERR_OK while it has not. Borrowed. */
SOLAR_API const struct err *solar_qp_error(const struct solar_qp *qp);

struct solar_work {
    uint64_t id;         /* the caller's; comes back in the completion */
    struct solar_mr *mr; /* own memory; of the queue pair's domain; may be NULL if length is 0 */
    uint64_t offset;     /* in it */
    uint32_t length;     /* at most SOLAR_MESSAGE_MAX */
    uint32_t remote_key; /* of the peer's region: write, read */
    uint64_t remote_offset;
    uint32_t immediate;
    uint8_t tensor; /* class: 0 = control, goes before all else of its label; to SOLAR_TENSOR_MAX */
};

/* Receives may be posted before the queue pair is open, all else only then. A message for which no
 * receive is posted is sent again until there is one: post ahead. ERR_INVALID (out of the region,
 * too long), ERR_CONFLICT (not open), ERR_LIMIT (depth, SOLAR_READS_MAX, or no place in the
 * completion queue): poll, then try again. */
SOLAR_API ERR_MUST_CHECK enum err_code solar_post(struct solar_qp *qp, enum solar_op op,
                                                  const struct solar_work *work, struct err *err);

struct solar_qp_stats {
    uint64_t sent_packets, acked_packets; /* data, first transmissions */
    uint64_t resent_packets;
    uint64_t lost_packets;                     /* that were found missing, by bitmap or timer */
    uint64_t timeouts;                         /* of them by timer */
    uint64_t spurious_packets;                 /* sent again although they had arrived */
    uint64_t sent_bytes;                       /* payload, first transmissions */
    uint64_t received_packets, received_bytes; /* new ones */
    uint64_t duplicate_packets;
    uint64_t unready_packets; /* dropped because no receive was posted */
    int64_t rtt_ns;           /* smoothed; 0 = not known */
    int64_t rate_bps;         /* what congestion control allows */
    int payload_max, paths, bad_paths;
};
SOLAR_API void solar_qp_stats(const struct solar_qp *qp, struct solar_qp_stats *out);

struct solar_stats {
    /* Of what arrived and was not taken. */
    uint64_t forged;        /* the tag is wrong */
    uint64_t replayed;      /* control packets seen before */
    uint64_t malformed;     /* no packet */
    uint64_t other_version; /* handshakes and refusals of another version of the transport */
    uint64_t unknown;       /* no such queue pair, or no key of the label and epoch */
    uint64_t mislabeled;
    /* User space only: what the kernel copies between sockets and memory is not counted. */
    uint64_t placed_bytes;              /* payload that the kernel wrote where it belongs */
    uint64_t copied_bytes;              /* payload that the library copied there from a buffer */
    uint64_t send_calls, receive_calls; /* system calls */
    uint64_t sent_datagrams, unsent_datagrams;
    uint64_t key_changes; /* times that the agent's keys of a label were other than before */
};
SOLAR_API void solar_context_stats(const struct solar_context *context, struct solar_stats *out);

/* What holds for a label now, wherever it comes from; limit_bps is this context's part of what all
 * processes of the node may send. ERR_NOT_FOUND: no queue pair used it and nobody set it. */
SOLAR_API ERR_MUST_CHECK enum err_code solar_label_get(const struct solar_context *context,
                                                       uint32_t label, struct solar_share *out,
                                                       struct err *err);

/* "1.0.0" */
SOLAR_API const char *solar_version(void);
/* As err_code_name(): "ok", "invalid", ... */
SOLAR_API const char *solar_code_name(enum err_code code);

#ifdef __cplusplus
}
#endif
