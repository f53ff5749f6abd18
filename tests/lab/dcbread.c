// dcbread IFNAME: prints a port's DCB state (IEEE 802.1Qaz) as one JSON object.
// The oracle of the lab's tests: raw netlink, no library and none of the product's code, so that a
// common mistake cannot hide. Debian 12's dcb tool loses errors and mistakes the unit of maxrate.
//
// Shape: {"ifname": s, "dcbx": n|null, "trust": "dscp"|"pcp",
//         "app": [{"selector": n, "protocol": n, "priority": n}...],
//         "ets": {"cap", "willing", "prio_tc": [8], "tsa": [8 of strict cbs ets vendor],
//                 "bw": [8 %]},
//         "pfc": {"cap", "enabled": [priorities], "delay", "requests": [8], "indications": [8]},
//         "maxrate_bps": [8 of n, null = no limit],
//         "buffer": {"prio2buffer": [8], "size": [8], "total_size"}}
// A part that the driver does not have is null. Exit: 0, 1 error (text on stderr), 2 usage.
#include <errno.h>
#include <inttypes.h>
#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define PRIOS       8
#define BUFFER_SIZE 32768
#define ATTR_HEADER sizeof(struct nlattr)

struct reply {
    union {
        struct nlmsghdr header; // also aligns the bytes
        uint8_t bytes[BUFFER_SIZE];
    } u;
    size_t size;
};

struct request {
    struct nlmsghdr header;
    struct dcbmsg dcb;
    struct nlattr name;
    char ifname[IFNAMSIZ];
};

struct span {
    const uint8_t *data; // NULL: the attribute is absent
    size_t size;
};

static size_t aligned(size_t size)
{
    return (size + NLA_ALIGNTO - 1) / NLA_ALIGNTO * NLA_ALIGNTO;
}

// ---- transport

static int open_socket(void)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct timeval limit = {.tv_sec = 10};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0) {
        return -1;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
        connect(fd, (const struct sockaddr *)&kernel, sizeof kernel) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int send_request(int fd, const char *ifname, uint8_t command, uint32_t seq)
{
    struct request request;
    size_t length = strlen(ifname) + 1;
    memset(&request, 0, sizeof request);
    request.header.nlmsg_type = RTM_GETDCB;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.header.nlmsg_seq = seq;
    request.dcb.dcb_family = AF_UNSPEC;
    request.dcb.cmd = command;
    request.name.nla_type = DCB_ATTR_IFNAME;
    request.name.nla_len = (uint16_t)(ATTR_HEADER + length);
    memcpy(request.ifname, ifname, length);
    request.header.nlmsg_len = (uint32_t)(offsetof(struct request, ifname) + aligned(length));
    return send(fd, &request, request.header.nlmsg_len, 0) < 0 ? -errno : 0;
}

// The kernel's answer to `seq`: 0, or a negative errno from NLMSG_ERROR. Others are skipped.
static int receive_reply(int fd, uint32_t seq, struct reply *out)
{
    for (;;) {
        ssize_t n = recv(fd, out->u.bytes, sizeof out->u.bytes, MSG_TRUNC);
        if (n < 0) {
            return -errno;
        }
        if ((size_t)n > sizeof out->u.bytes) {
            return -EMSGSIZE;
        }
        const struct nlmsghdr *header = &out->u.header;
        if ((size_t)n < sizeof *header || header->nlmsg_len > (size_t)n) {
            return -EBADMSG;
        }
        if (header->nlmsg_seq != seq) {
            continue;
        }
        out->size = header->nlmsg_len;
        if (header->nlmsg_type != NLMSG_ERROR) {
            return out->size < NLMSG_SPACE(sizeof(struct dcbmsg)) ? -EBADMSG : 0;
        }
        const struct nlmsgerr *error = NLMSG_DATA(header);
        return error->error != 0 ? error->error : -EBADMSG; // a bare ACK was not asked for
    }
}

// ---- attributes

// The n-th attribute (0 first) of `type` in `in`; absent when there are fewer.
static struct span find(struct span in, uint16_t type, size_t n)
{
    size_t at = 0;
    while (in.data != NULL && in.size - at >= ATTR_HEADER) {
        struct nlattr attr;
        memcpy(&attr, in.data + at, sizeof attr);
        if (attr.nla_len < ATTR_HEADER || attr.nla_len > in.size - at) {
            break;
        }
        if ((attr.nla_type & NLA_TYPE_MASK) == type && n-- == 0) {
            return (struct span){in.data + at + ATTR_HEADER, (size_t)attr.nla_len - ATTR_HEADER};
        }
        size_t step = aligned(attr.nla_len);
        if (step > in.size - at) {
            break;
        }
        at += step;
    }
    return (struct span){NULL, 0};
}

static bool copy(struct span from, void *to, size_t size)
{
    if (from.data == NULL || from.size < size) {
        return false;
    }
    memcpy(to, from.data, size);
    return true;
}

static struct span attributes_of(const struct reply *reply)
{
    size_t skip = NLMSG_SPACE(sizeof(struct dcbmsg));
    return (struct span){reply->u.bytes + skip, reply->size - skip};
}

// ---- JSON

static void print_u8(const char *name, const uint8_t *values)
{
    printf("\"%s\": [", name);
    for (int i = 0; i < PRIOS; i++) {
        printf("%s%u", i ? ", " : "", values[i]);
    }
    printf("]");
}

static void print_u64(const char *name, const uint64_t *values)
{
    printf("\"%s\": [", name);
    for (int i = 0; i < PRIOS; i++) {
        printf("%s%" PRIu64, i ? ", " : "", values[i]);
    }
    printf("]");
}

static const char *tsa_name(uint8_t tsa)
{
    switch (tsa) {
    case IEEE_8021QAZ_TSA_STRICT:
        return "strict";
    case IEEE_8021QAZ_TSA_CB_SHAPER:
        return "cbs";
    case IEEE_8021QAZ_TSA_ETS:
        return "ets";
    case IEEE_8021QAZ_TSA_VENDOR:
        return "vendor";
    default:
        return "unknown";
    }
}

static void print_app(struct span ieee)
{
    struct span table = find(ieee, DCB_ATTR_IEEE_APP_TABLE, 0);
    struct dcb_app app;
    bool dscp = false;
    printf("  \"app\": [");
    for (size_t i = 0; copy(find(table, DCB_ATTR_IEEE_APP, i), &app, sizeof app); i++) {
        dscp = dscp || app.selector == IEEE_8021QAZ_APP_SEL_DSCP;
        printf("%s{\"selector\": %u, \"protocol\": %u, \"priority\": %u}", i ? ", " : "",
               app.selector, app.protocol, app.priority);
    }
    printf("],\n  \"trust\": \"%s\",\n", dscp ? "dscp" : "pcp");
}

static void print_ets(struct span ieee)
{
    struct ieee_ets ets;
    if (!copy(find(ieee, DCB_ATTR_IEEE_ETS, 0), &ets, sizeof ets)) {
        printf("  \"ets\": null,\n");
        return;
    }
    printf("  \"ets\": {\"cap\": %u, \"willing\": %u, ", ets.ets_cap, ets.willing);
    print_u8("prio_tc", ets.prio_tc);
    printf(", \"tsa\": [");
    for (int i = 0; i < PRIOS; i++) {
        printf("%s\"%s\"", i ? ", " : "", tsa_name(ets.tc_tsa[i]));
    }
    printf("], ");
    print_u8("bw", ets.tc_tx_bw);
    printf("},\n");
}

static void print_pfc(struct span ieee)
{
    struct ieee_pfc pfc;
    if (!copy(find(ieee, DCB_ATTR_IEEE_PFC, 0), &pfc, sizeof pfc)) {
        printf("  \"pfc\": null,\n");
        return;
    }
    printf("  \"pfc\": {\"cap\": %u, \"enabled\": [", pfc.pfc_cap);
    const char *comma = "";
    for (int i = 0; i < PRIOS; i++) {
        if (pfc.pfc_en & (1U << i)) {
            printf("%s%d", comma, i);
            comma = ", ";
        }
    }
    printf("], \"delay\": %u, ", pfc.delay);
    uint64_t requests[PRIOS];
    uint64_t indications[PRIOS];
    for (int i = 0; i < PRIOS; i++) {
        requests[i] = pfc.requests[i];
        indications[i] = pfc.indications[i];
    }
    print_u64("requests", requests);
    printf(", ");
    print_u64("indications", indications);
    printf("},\n");
}

// The kernel speaks kbit/s and says 0 for no limit.
static void print_maxrate(struct span ieee)
{
    struct ieee_maxrate maxrate;
    if (!copy(find(ieee, DCB_ATTR_IEEE_MAXRATE, 0), &maxrate, sizeof maxrate)) {
        printf("  \"maxrate_bps\": null,\n");
        return;
    }
    printf("  \"maxrate_bps\": [");
    for (int i = 0; i < PRIOS; i++) {
        uint64_t kbps = maxrate.tc_maxrate[i];
        printf("%s", i ? ", " : "");
        if (kbps == 0) {
            printf("null");
        } else {
            printf("%" PRIu64 "%s", kbps, "000");
        }
    }
    printf("],\n");
}

static void print_buffer(struct span ieee)
{
    struct dcbnl_buffer buffer;
    if (!copy(find(ieee, DCB_ATTR_DCB_BUFFER, 0), &buffer, sizeof buffer)) {
        printf("  \"buffer\": null\n");
        return;
    }
    printf("  \"buffer\": {");
    print_u8("prio2buffer", buffer.prio2buffer);
    printf(", \"size\": [");
    for (int i = 0; i < PRIOS; i++) {
        printf("%s%u", i ? ", " : "", buffer.buffer_size[i]);
    }
    printf("], \"total_size\": %u}\n", buffer.total_size);
}

// ---- the two questions

static int ask(int fd, const char *ifname, uint8_t command, struct reply *out)
{
    static uint32_t seq = 1;
    seq++;
    int rc = send_request(fd, ifname, command, seq);
    return rc != 0 ? rc : receive_reply(fd, seq, out);
}

// dcbnl may put an errno as one signed byte where the nest belongs.
static int ieee_of(const struct reply *reply, struct span *out)
{
    *out = find(attributes_of(reply), DCB_ATTR_IEEE, 0);
    if (out->data == NULL) {
        return -ENODATA;
    }
    if (out->size == 1) {
        return out->data[0] != 0 ? (int8_t)out->data[0] : -ENODATA;
    }
    return 0;
}

static int print_port(int fd, const char *ifname)
{
    static struct reply ieee_reply;
    static struct reply dcbx_reply;
    struct span ieee;
    uint8_t dcbx;
    int rc = ask(fd, ifname, DCB_CMD_IEEE_GET, &ieee_reply);
    if (rc == 0) {
        rc = ieee_of(&ieee_reply, &ieee);
    }
    if (rc != 0) {
        return rc;
    }
    printf("{\n  \"ifname\": \"%s\",\n", ifname);
    rc = ask(fd, ifname, DCB_CMD_GDCBX, &dcbx_reply);
    if (rc == 0 && copy(find(attributes_of(&dcbx_reply), DCB_ATTR_DCBX, 0), &dcbx, 1)) {
        printf("  \"dcbx\": %u,\n", dcbx);
    } else {
        printf("  \"dcbx\": null,\n");
    }
    print_app(ieee);
    print_ets(ieee);
    print_pfc(ieee);
    print_maxrate(ieee);
    print_buffer(ieee);
    printf("}\n");
    return 0;
}

// A name that needs no JSON escapes; the kernel allows more, the lab does not use it.
static bool name_is_plain(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length < IFNAMSIZ && strpbrk(name, "\"\\") == NULL;
}

int main(int argc, char **argv)
{
    if (argc != 2 || !name_is_plain(argv[1])) {
        fprintf(stderr, "usage: dcbread IFNAME\n");
        return 2;
    }
    int fd = open_socket();
    if (fd < 0) {
        perror("dcbread: netlink socket");
        return 1;
    }
    int rc = print_port(fd, argv[1]);
    close(fd);
    if (rc != 0) {
        fprintf(stderr, "dcbread: %s: %s\n", argv[1], strerror(-rc));
        return 1;
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
