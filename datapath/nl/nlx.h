#pragma once
/*
 * datapath/nl/nlx.h - netlink transactions: one request, its replies, its ACK, all within a
 * deadline.
 *
 * Every request carries NLM_F_ACK and its own sequence number; the ACK is always drained, replies
 * to other numbers are ignored, and the extended ACK's words go into err. sendmsg(2) runs the
 * driver, so it is done by the socket's own thread: a driver that never comes back costs the caller
 * the deadline and then ERR_UNAVAILABLE until it does, never more.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "base/err.h"
#include "base/own.h"

#define NLX_DEADLINE_MS 5000
#define NLX_REPLY_MAX   (1024 * 1024) /* bytes of one datagram from the kernel */
#define NLX_DUMP_TRIES  5             /* of a dump that changes under our hands */
#define NLX_WARNING_MAX 160
#define NLX_BATCH_MAX   64 /* requests of one batch */

struct nlx;

/* protocol: NETLINK_ROUTE, NETLINK_GENERIC, NETLINK_RDMA. */
ERR_MUST_CHECK enum err_code nlx_open(int protocol, struct nlx **out, struct err *err);
/* Takes over a connected datagram descriptor; for tests that play the kernel. */
ERR_MUST_CHECK enum err_code nlx_attach(int fd, struct nlx **out, struct err *err);
void nlx_free(struct nlx *nlx);
OWN_DEFINE(nlx, struct nlx *, nlx_free)

/* Of one transaction; NLX_DEADLINE_MS at first. */
void nlx_set_deadline(struct nlx *nlx, int deadline_ms);
/* All transactions from now on share this time, each within its own deadline; 0 = no such limit. */
void nlx_set_budget(struct nlx *nlx, int budget_ms);
uint32_t nlx_port(const struct nlx *nlx); /* our port id: nlmsg_pid of what we caused */
/* The words of the last successful ACK ("" if none): the kernel did it, but. */
const char *nlx_warning(const struct nlx *nlx);

/* One reply, whole: nlmsg_len is checked. Lengths inside are for the callee to check. */
typedef enum err_code nlx_reply_fn(void *arg, const struct nlmsghdr *msg, struct err *err);

/*
 * Sends `request` and runs on_reply (may be NULL) for each reply until the ACK. The kernel's
 * refusal is an err with sys_errno: EOPNOTSUPP ERR_UNSUPPORTED, EPERM ERR_DENIED, ENOSPC ERR_LIMIT,
 * ENODEV and ENOENT ERR_NOT_FOUND, EEXIST and EBUSY ERR_CONFLICT, others ERR_IO.
 * ERR_UNAVAILABLE: no answer within the deadline, or lost; what it did is then unknown.
 */
ERR_MUST_CHECK enum err_code nlx_txn(struct nlx *nlx, struct nl_msg *request,
                                     nlx_reply_fn *on_reply, void *arg, struct err *err);

/* One request of a batch, and what became of it. */
struct nlx_item {
    struct nl_msg *request; /* borrowed */
    nlx_reply_fn *on_reply; /* may be NULL */
    void *arg;              /* of on_reply */
    enum err_code code;     /* as nlx_txn's; set in every case */
    struct err err;         /* why, unless code is ERR_OK */
};

/*
 * Sends up to NLX_BATCH_MAX requests in one call; the kernel does one after the other, and goes on
 * after one that it refuses. All share one deadline. ERR_OK: all succeeded; else the first failure,
 * whose place err names. Of the others the items tell.
 */
ERR_MUST_CHECK enum err_code nlx_batch(struct nlx *nlx, struct nlx_item *items, size_t count,
                                       struct err *err);

/* As nlx_txn with NLM_F_DUMP; starts again, after on_restart(arg), when the kernel says that the
 * dump was interrupted or overran. */
ERR_MUST_CHECK enum err_code nlx_dump(struct nlx *nlx, struct nl_msg *request,
                                      nlx_reply_fn *on_reply, void (*on_restart)(void *arg),
                                      void *arg, struct err *err);

enum err_code nlx_code_of_errno(int sys_errno);

/* Generic netlink: id of a family by name. ERR_UNSUPPORTED: this kernel has no such family. */
ERR_MUST_CHECK enum err_code nlx_family(struct nlx *nlx, const char *name, uint16_t *out,
                                        struct err *err);

/* Messages ------------------------------------------------------------------------------------ */

OWN_DEFINE(nl_msg, struct nl_msg *, nlmsg_free)

/* A request with room for `size` bytes of payload; NULL = no memory. */
struct nl_msg *nlx_msg_new(uint16_t type, uint16_t flags, const void *header, size_t header_len,
                           size_t size);
/* The same for generic netlink. */
struct nl_msg *nlx_genl_new(uint16_t family, uint8_t command, uint16_t flags);

/* Attributes of a reply with a fixed header of header_len bytes; false = malformed. tb has max+1
 * members. */
bool nlx_parse(const struct nlmsghdr *msg, size_t header_len, struct nlattr **tb, int max);
bool nlx_parse_nested(const struct nlattr *nest, struct nlattr **tb, int max);

/* False, *out untouched: absent or too short. */
bool nlx_u8(const struct nlattr *attr, uint8_t *out);
bool nlx_u16(const struct nlattr *attr, uint16_t *out);
bool nlx_u32(const struct nlattr *attr, uint32_t *out);
bool nlx_u64(const struct nlattr *attr, uint64_t *out);
/* Exactly size bytes or more; the first `size` are copied. */
bool nlx_struct(const struct nlattr *attr, void *out, size_t size);
/* A text without hidden characters (base/text.h), cut at size; false and "" when absent. */
bool nlx_text(const struct nlattr *attr, char *out, size_t size);
