/*
 * datapath/nl/nlx.c - see nlx.h.
 */
#include "datapath/nl/nlx.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/genetlink.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "base/text.h"
#include "datapath/nl/nlx_send.h"

#define RCVBUF_BYTES (4 * 1024 * 1024)

struct nlx {
    struct nlx_sender *sender;
    int fd; /* for receiving; the sender has its own duplicate */
    uint32_t port;
    uint32_t seq;
    int deadline_ms;
    int64_t budget_ns; /* when the shared time ends, monotonic; 0 = none */
    char *buffer;      /* owned, buffer_size bytes */
    size_t buffer_size;
    char warning[NLX_WARNING_MAX];
};

/* One request on its way. */
struct exchange {
    struct nlx *nlx;
    uint32_t seq;
    int64_t until_ns;
    nlx_reply_fn *on_reply;
    void *arg;
    bool dump;
    bool done;
    bool interrupted;   /* the dump is not consistent, or replies were lost */
    enum err_code code; /* of the first reply that could not be used */
    struct err *err;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Opening ------------------------------------------------------------------------------------- */

enum err_code nlx_attach(int fd, struct nlx **out, struct err *err)
{
    struct nlx *nlx = calloc(1, sizeof(*nlx));
    if (nlx == NULL) {
        close(fd);
        return err_nomem(err);
    }
    nlx->fd = fd;
    OWN(nlx) struct nlx *owned = nlx;
    nlx->deadline_ms = NLX_DEADLINE_MS;
    nlx->buffer_size = 32 * 1024;
    nlx->buffer = malloc(nlx->buffer_size);
    if (nlx->buffer == NULL)
        return err_nomem(err);
    int copy = dup(fd);
    if (copy < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot duplicate a netlink socket");
    if (nlx_sender_new(copy, &nlx->sender, err))
        return err_context(err, "netlink");
    *out = GIVE(owned);
    return ERR_OK;
}

enum err_code nlx_open(int protocol, struct nlx **out, struct err *err)
{
    struct nl_sock *sock = nl_socket_alloc();
    if (sock == NULL)
        return err_nomem(err);
    int rc = nl_connect(sock, protocol);
    if (rc < 0) {
        nl_socket_free(sock);
        return err_set(err, rc == -NLE_PROTO_MISMATCH ? ERR_UNSUPPORTED : ERR_IO,
                       "cannot open netlink protocol %d: %s", protocol, nl_geterror(rc));
    }
    uint32_t port = nl_socket_get_local_port(sock);
    int fd = dup(nl_socket_get_fd(sock));
    int on = 1, size = RCVBUF_BYTES;
    if (fd >= 0) {
        /* Words for errors; without them we only lose the words. */
        (void)setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
        (void)setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
    }
    nl_socket_free(sock);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot duplicate a netlink socket");
    enum err_code code = nlx_attach(fd, out, err);
    if (code == ERR_OK)
        (*out)->port = port;
    return code;
}

void nlx_free(struct nlx *nlx)
{
    if (nlx == NULL)
        return;
    nlx_sender_free(nlx->sender);
    close(nlx->fd);
    free(nlx->buffer);
    free(nlx);
}

void nlx_set_deadline(struct nlx *nlx, int deadline_ms)
{
    nlx->deadline_ms = deadline_ms;
}

void nlx_set_budget(struct nlx *nlx, int budget_ms)
{
    nlx->budget_ns = budget_ms == 0 ? 0 : now_ns() + budget_ms * INT64_C(1000000);
}

uint32_t nlx_port(const struct nlx *nlx)
{
    return nlx->port;
}

const char *nlx_warning(const struct nlx *nlx)
{
    return nlx->warning;
}

/* Errors and extended ACKs -------------------------------------------------------------------- */

/* The text of the extended ACK behind `offset` bytes of the message. */
static void extack_text(const struct nlmsghdr *msg, size_t offset, char *out, size_t size)
{
    out[0] = '\0';
    if ((msg->nlmsg_flags & NLM_F_ACK_TLVS) == 0 || offset >= msg->nlmsg_len)
        return;
    struct nlattr *tb[NLMSGERR_ATTR_MAX + 1];
    struct nlattr *head = (struct nlattr *)((char *)(uintptr_t)msg + offset);
    if (nla_parse(tb, NLMSGERR_ATTR_MAX, head, (int)(msg->nlmsg_len - offset), NULL) == 0)
        nlx_text(tb[NLMSGERR_ATTR_MSG], out, size);
}

static enum err_code kernel_error(int sys_errno, const char *text, struct err *err)
{
    enum err_code code = nlx_code_of_errno(sys_errno);
    if (text[0] != '\0')
        return err_set_errno(err, code, sys_errno, "kernel: %s", text);
    return err_set_errno(err, code, sys_errno, "kernel");
}

static enum err_code take_ack(struct exchange *x, const struct nlmsghdr *msg, struct err *err)
{
    struct nlmsgerr ack;
    if (msg->nlmsg_len < NLMSG_HDRLEN + sizeof(ack))
        return err_set(err, ERR_IO, "kernel: the acknowledgement is cut short");
    memcpy(&ack, NLMSG_DATA((uintptr_t)msg), sizeof(ack));
    size_t offset = NLMSG_HDRLEN + sizeof(ack);
    if ((msg->nlmsg_flags & NLM_F_CAPPED) == 0 && ack.msg.nlmsg_len > NLMSG_HDRLEN)
        offset += NLMSG_ALIGN(ack.msg.nlmsg_len) - NLMSG_HDRLEN;
    char text[NLX_WARNING_MAX];
    extack_text(msg, offset, text, sizeof(text));
    x->done = true;
    if (ack.error != 0)
        return kernel_error(ack.error < 0 ? -ack.error : EIO, text, err);
    snprintf(x->nlx->warning, sizeof(x->nlx->warning), "%s", text);
    return ERR_OK;
}

static enum err_code take_done(struct exchange *x, const struct nlmsghdr *msg, struct err *err)
{
    int32_t error = 0;
    char text[NLX_WARNING_MAX];
    x->done = true;
    if (msg->nlmsg_len >= NLMSG_HDRLEN + sizeof(error))
        memcpy(&error, NLMSG_DATA((uintptr_t)msg), sizeof(error));
    extack_text(msg, NLMSG_HDRLEN + sizeof(error), text, sizeof(text));
    return error < 0 ? kernel_error(-error, text, err) : ERR_OK;
}

/* Receiving ----------------------------------------------------------------------------------- */

static int left_ms(const struct exchange *x)
{
    int64_t left = (x->until_ns - now_ns()) / 1000000;
    return left < 0 ? 0 : (int)left;
}

static enum err_code wait_readable(struct exchange *x, struct err *err)
{
    for (;;) {
        struct pollfd pfd = {.fd = x->nlx->fd, .events = POLLIN};
        int n = poll(&pfd, 1, left_ms(x));
        if (n > 0)
            return ERR_OK;
        if (n == 0)
            return err_set(err, ERR_UNAVAILABLE, "the kernel did not answer within %d ms",
                           x->nlx->deadline_ms);
        if (errno != EINTR)
            return err_set_errno(err, ERR_IO, errno, "cannot wait for the kernel");
    }
}

/* A kernel that always has one more message, or loses one each time, is never waited for. */
static bool goes_on_too_long(const struct exchange *x, struct err *err)
{
    if (x->done || now_ns() < x->until_ns)
        return false;
    err_set(err, ERR_UNAVAILABLE, "the kernel's answer did not end within %d ms",
            x->nlx->deadline_ms);
    return true;
}

static ssize_t peek(const struct nlx *nlx)
{
    return recv(nlx->fd, nlx->buffer, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
}

/* Waits for the next datagram and makes the buffer large enough for it. Mostly it is there already:
 * the kernel answers inside sendmsg(2). */
static enum err_code make_room(struct exchange *x, struct err *err)
{
    struct nlx *nlx = x->nlx;
    ssize_t need = peek(nlx);
    if (need < 0 && errno == EAGAIN) {
        enum err_code code = wait_readable(x, err);
        if (code != ERR_OK)
            return code;
        need = peek(nlx);
    }
    if (need < 0 || (size_t)need <= nlx->buffer_size)
        return ERR_OK; /* the errors come again with the real receive */
    if (need > NLX_REPLY_MAX)
        return err_set(err, ERR_LIMIT, "the kernel's answer of %zd bytes is over %d", need,
                       NLX_REPLY_MAX);
    char *grown = realloc(nlx->buffer, (size_t)need);
    if (grown == NULL)
        return err_nomem(err);
    nlx->buffer = grown;
    nlx->buffer_size = (size_t)need;
    return ERR_OK;
}

/* One datagram into the buffer; *out_len 0: not from the kernel, or lost (x->interrupted). */
static enum err_code receive(struct exchange *x, size_t *out_len, struct err *err)
{
    struct nlx *nlx = x->nlx;
    *out_len = 0;
    enum err_code code = make_room(x, err);
    if (code != ERR_OK)
        return code;
    struct sockaddr_nl from = {0};
    socklen_t from_len = sizeof(from);
    ssize_t n = recvfrom(nlx->fd, nlx->buffer, nlx->buffer_size, MSG_DONTWAIT,
                         (struct sockaddr *)&from, &from_len);
    if (n < 0 && errno == ENOBUFS) {
        x->interrupted = true;
        return ERR_OK;
    }
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return err_set_errno(err, ERR_IO, errno, "cannot receive from the kernel");
    if (n == 0)
        return err_set(err, ERR_IO, "the netlink socket was closed");
    /* Anyone may send to a netlink port; only port 0 is the kernel. */
    bool foreign = from_len == sizeof(from) && from.nl_family == AF_NETLINK && from.nl_pid != 0;
    if (n > 0 && !foreign)
        *out_len = (size_t)n;
    return ERR_OK;
}

static enum err_code take_message(struct exchange *x, const struct nlmsghdr *msg, struct err *err)
{
    if (msg->nlmsg_seq != x->seq)
        return ERR_OK;
    if (msg->nlmsg_flags & NLM_F_DUMP_INTR)
        x->interrupted = true;
    switch (msg->nlmsg_type) {
    case NLMSG_NOOP:
        return ERR_OK;
    case NLMSG_ERROR:
        return take_ack(x, msg, err);
    case NLMSG_DONE:
        return take_done(x, msg, err);
    case NLMSG_OVERRUN:
        x->interrupted = true;
        return ERR_OK;
    default:
        break;
    }
    /* After a reply that made no sense the rest is drained, so that the socket stays usable. */
    if (x->on_reply != NULL && x->code == ERR_OK)
        x->code = x->on_reply(x->arg, msg, x->err);
    return ERR_OK;
}

static enum err_code take_datagram(struct exchange *x, size_t len, struct err *err)
{
    int left = (int)len;
    struct nlmsghdr *msg = (struct nlmsghdr *)x->nlx->buffer;
    while (!x->done && nlmsg_ok(msg, left)) {
        enum err_code code = take_message(x, msg, err);
        if (code != ERR_OK)
            return code;
        msg = nlmsg_next(msg, &left);
    }
    if (!x->done && left >= NLMSG_HDRLEN)
        return err_set(err, ERR_IO, "the kernel's answer is malformed");
    return ERR_OK;
}

static int64_t deadline_of(const struct nlx *nlx)
{
    int64_t until = now_ns() + nlx->deadline_ms * INT64_C(1000000);
    return nlx->budget_ns != 0 && nlx->budget_ns < until ? nlx->budget_ns : until;
}

/* Makes the request the exchange's, with the next number; 0 is the kernel's own. */
static void address(struct exchange *x, struct nl_msg *request)
{
    struct nlx *nlx = x->nlx;
    struct nlmsghdr *header = nlmsg_hdr(request);
    x->seq = ++nlx->seq == 0 ? ++nlx->seq : nlx->seq;
    header->nlmsg_seq = x->seq;
    header->nlmsg_pid = nlx->port;
    header->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
}

/* Sends and receives until the ACK; the kernel's refusal wins over an unusable reply. */
static enum err_code run(struct exchange *x, struct nl_msg *request)
{
    struct nlx *nlx = x->nlx;
    const struct nlmsghdr *header = nlmsg_hdr(request);
    x->until_ns = deadline_of(nlx);
    address(x, request);
    nlx->warning[0] = '\0';
    enum err_code code =
        nlx_sender_send(nlx->sender, header, header->nlmsg_len, left_ms(x), x->err);
    struct err problem = ERR_INIT;
    while (code == ERR_OK && !x->done) {
        size_t len;
        code = receive(x, &len, &problem);
        if (code == ERR_OK && len > 0)
            code = take_datagram(x, len, &problem);
        if (code == ERR_OK && goes_on_too_long(x, &problem))
            code = problem.code;
        /* An ACK may be what was lost; a dump goes on, and must be read to its end. */
        if (code == ERR_OK && x->interrupted && !x->dump)
            break;
        if (code != ERR_OK && x->err != NULL)
            *x->err = problem;
    }
    return code != ERR_OK ? code : x->code;
}

enum err_code nlx_txn(struct nlx *nlx, struct nl_msg *request, nlx_reply_fn *on_reply, void *arg,
                      struct err *err)
{
    struct exchange x = {.nlx = nlx, .on_reply = on_reply, .arg = arg, .err = err};
    enum err_code code = run(&x, request);
    if (code == ERR_OK && !x.done)
        return err_set_errno(err, ERR_UNAVAILABLE, ENOBUFS, "the kernel's answer was lost");
    return code;
}

/* Batches ------------------------------------------------------------------------------------- */

struct batch {
    struct nlx_item *items; /* borrowed */
    size_t count;
    struct exchange exchanges[NLX_BATCH_MAX]; /* one an item */
};

/* The requests one behind the other; owned by the caller. */
static char *join(const struct batch *batch, size_t *out_len)
{
    size_t len = 0;
    for (size_t i = 0; i < batch->count; i++)
        len += NLMSG_ALIGN(nlmsg_hdr(batch->items[i].request)->nlmsg_len);
    char *bytes = calloc(1, len);
    *out_len = len;
    len = 0;
    for (size_t i = 0; bytes != NULL && i < batch->count; i++) {
        const struct nlmsghdr *header = nlmsg_hdr(batch->items[i].request);
        memcpy(bytes + len, header, header->nlmsg_len);
        len += NLMSG_ALIGN(header->nlmsg_len);
    }
    return bytes;
}

static void batch_take(struct batch *batch, const struct nlmsghdr *msg)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct exchange *x = &batch->exchanges[i];
        struct err problem = ERR_INIT;
        if (x->seq != msg->nlmsg_seq || x->done)
            continue;
        enum err_code code = take_message(x, msg, &problem);
        if (code == ERR_OK)
            return;
        x->done = true; /* an unusable ACK is one all the same */
        x->code = code;
        *x->err = problem;
    }
}

static bool batch_is_done(const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (!batch->exchanges[i].done)
            return false;
    return true;
}

/* Until every ACK is there. After a loss only what is there already is taken: sendmsg(2) came back,
 * so that the kernel has answered all that it will. */
static enum err_code batch_receive(struct nlx *nlx, struct batch *batch, int64_t until_ns,
                                   struct err *err)
{
    struct exchange wait = {.nlx = nlx, .until_ns = until_ns};
    const struct exchange whole = wait; /* as long as there is more to take */
    while (!batch_is_done(batch)) {
        size_t len;
        enum err_code code = receive(&wait, &len, err);
        if (code != ERR_OK)
            return code;
        if (wait.interrupted)
            wait.until_ns = 0;
        int left = (int)len;
        for (struct nlmsghdr *msg = (struct nlmsghdr *)nlx->buffer; nlmsg_ok(msg, left);
             msg = nlmsg_next(msg, &left))
            batch_take(batch, msg);
        if (left >= NLMSG_HDRLEN)
            return err_set(err, ERR_IO, "the kernel's answer is malformed");
        if (!batch_is_done(batch) && goes_on_too_long(&whole, err))
            return ERR_UNAVAILABLE;
    }
    return ERR_OK;
}

/* Every item's outcome; of those without an answer `code` tells why. */
static enum err_code batch_end(struct batch *batch, enum err_code code, const struct err *why,
                               struct err *err)
{
    enum err_code first = ERR_OK;
    for (size_t i = 0; i < batch->count; i++) {
        struct nlx_item *item = &batch->items[i];
        item->code = batch->exchanges[i].done ? batch->exchanges[i].code : code;
        if (!batch->exchanges[i].done)
            item->err = *why;
        if (first != ERR_OK || item->code == ERR_OK)
            continue;
        first = item->code;
        if (err != NULL)
            *err = item->err;
        (void)err_context(err, "request %zu of %zu", i + 1, batch->count);
    }
    return first;
}

enum err_code nlx_batch(struct nlx *nlx, struct nlx_item *items, size_t count, struct err *err)
{
    struct batch batch = {.items = items, .count = count};
    struct err why = ERR_INIT;
    size_t len;
    assert(count > 0 && count <= NLX_BATCH_MAX);
    for (size_t i = 0; i < count; i++) {
        items[i].err = (struct err)ERR_INIT;
        batch.exchanges[i] = (struct exchange){
            .nlx = nlx, .on_reply = items[i].on_reply, .arg = items[i].arg, .err = &items[i].err};
        address(&batch.exchanges[i], items[i].request);
    }
    nlx->warning[0] = '\0';
    int64_t until_ns = deadline_of(nlx);
    int wait_ms = left_ms(&(struct exchange){.until_ns = until_ns});
    char *bytes = join(&batch, &len);
    enum err_code code =
        bytes == NULL ? err_nomem(&why) : nlx_sender_send(nlx->sender, bytes, len, wait_ms, &why);
    free(bytes);
    if (code == ERR_OK)
        code = batch_receive(nlx, &batch, until_ns, &why);
    return batch_end(&batch, code, &why, err);
}

enum err_code nlx_dump(struct nlx *nlx, struct nl_msg *request, nlx_reply_fn *on_reply,
                       void (*on_restart)(void *arg), void *arg, struct err *err)
{
    nlmsg_hdr(request)->nlmsg_flags |= NLM_F_DUMP;
    for (int i = 0; i < NLX_DUMP_TRIES; i++) {
        struct exchange x = {
            .nlx = nlx, .on_reply = on_reply, .arg = arg, .dump = true, .err = err};
        enum err_code code = run(&x, request);
        if (code != ERR_OK || !x.interrupted)
            return code;
        on_restart(arg);
    }
    return err_set(err, ERR_UNAVAILABLE, "the kernel's list changed during each of %d reads",
                   NLX_DUMP_TRIES);
}
