#pragma once
/*
 * tests/unit/datapath/nlx_pair.h - a netlink socket whose other end plays the kernel.
 */

#include "tests/unit/datapath/nl_test.h"

#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "datapath/nl/nlx.h"

#define TYPE_REPLY 100

struct pair {
    struct nlx *nlx;
    int kernel;
};

static inline void pair_open(struct pair *pair)
{
    struct err err = ERR_INIT;
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    pair->kernel = fds[1];
    assert_ok(nlx_attach(fds[0], &pair->nlx, &err));
    nlx_set_deadline(pair->nlx, 200);
}

static inline void pair_close(struct pair *pair)
{
    nlx_free(pair->nlx);
    close(pair->kernel);
}

/* The kernel sends one message: header with seq, then the payload. */
static inline void answer(struct pair *pair, uint16_t type, uint16_t flags, uint32_t seq,
                          const char *hex)
{
    struct nlmsghdr *msg = message(type, hex);
    msg->nlmsg_flags = flags;
    msg->nlmsg_seq = seq;
    assert_int_equal(send(pair->kernel, msg, msg->nlmsg_len, 0), msg->nlmsg_len);
    free(msg);
}

/* nlmsgerr: error, then the request's header. */
static inline void answer_ack(struct pair *pair, uint32_t seq, int error)
{
    char hex[64];
    uint8_t bytes[4];
    int negative = -error;
    memcpy(bytes, &negative, 4);
    snprintf(hex, sizeof(hex), "%02x%02x%02x%02x 10000000 01000500 00000000 00000000", bytes[0],
             bytes[1], bytes[2], bytes[3]);
    answer(pair, NLMSG_ERROR, 0, seq, hex);
}

struct seen {
    int count;
    uint8_t last;
    int restarts;
    bool refuse;
};

static inline enum err_code take(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct seen *seen = arg;
    assert_int_equal(msg->nlmsg_type, TYPE_REPLY);
    seen->count++;
    seen->last = *(const uint8_t *)nlmsg_data(msg);
    return seen->refuse ? err_set(err, ERR_IO, "makes no sense") : ERR_OK;
}

static inline void restart(void *arg)
{
    struct seen *seen = arg;
    seen->restarts++;
    seen->count = 0;
}

static inline struct nl_msg *request(void)
{
    struct nl_msg *msg = nlx_msg_new(99, 0, "\1\2\3\4", 4, 64);
    assert_non_null(msg);
    return msg;
}

static inline int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
