#pragma once
/*
 * tests/unit/datapath/nl_test.h - messages as bytes: written by hand as hex, recorded from a kernel
 * (the fuzz corpora, Debian 6.1 with the test NIC), and maimed in every length.
 */

#include "tests/unit/test.h"

#include <linux/netlink.h>
#include <netlink/msg.h>

/* "0500 0900 11" -> bytes; blanks are skipped. */
static inline size_t unhex(const char *hex, uint8_t *out, size_t size)
{
    size_t n = 0;
    for (; *hex != '\0'; hex += 2) {
        while (*hex == ' ')
            hex++;
        if (*hex == '\0')
            break;
        const char digits[3] = {hex[0], hex[1], '\0'};
        assert_true(n < size);
        out[n++] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return n;
}

static inline void fail_bytes(const char *what, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        printf("%02x%s", data[i], i % 4 == 3 ? " " : "");
    fail_msg("\n%s", what);
}

/* What stands behind the netlink header begins with these bytes. */
static inline void assert_payload(struct nl_msg *msg, const char *hex)
{
    uint8_t want[4096];
    size_t len = unhex(hex, want, sizeof(want));
    const uint8_t *have = nlmsg_data(nlmsg_hdr(msg));
    size_t have_len = (size_t)nlmsg_datalen(nlmsg_hdr(msg));
    if (have_len < len || memcmp(have, want, len) != 0)
        fail_bytes(hex, have, have_len);
}

/* The bytes stand somewhere in the message, at a multiple of four. */
static inline void assert_holds(struct nl_msg *msg, const char *hex)
{
    uint8_t want[4096];
    size_t len = unhex(hex, want, sizeof(want));
    const uint8_t *have = (const uint8_t *)nlmsg_hdr(msg);
    size_t have_len = nlmsg_hdr(msg)->nlmsg_len;
    for (size_t i = 0; i + len <= have_len; i += 4)
        if (memcmp(have + i, want, len) == 0)
            return;
    fail_bytes(hex, have, have_len);
}

/* A message of a type with this payload; free() it. */
static inline struct nlmsghdr *message(uint16_t type, const char *hex)
{
    uint8_t payload[4096];
    size_t len = unhex(hex, payload, sizeof(payload));
    struct nlmsghdr *msg = calloc(1, sizeof(*msg) + len + 4);
    assert_non_null(msg);
    msg->nlmsg_len = (uint32_t)(sizeof(*msg) + len);
    msg->nlmsg_type = type;
    memcpy(msg + 1, payload, len);
    return msg;
}

/* A recorded one, "fuzz_datapath_tc/class_1"; free() it. */
static inline struct nlmsghdr *recorded(const char *name)
{
    char path[256];
    size_t len;
    snprintf(path, sizeof(path), "fuzz/corpus/%s", name);
    struct nlmsghdr *msg = (struct nlmsghdr *)(void *)test_load(path, &len);
    assert_true(len >= sizeof(*msg) && msg->nlmsg_len == len);
    return msg;
}

/*
 * Runs decode over every shorter version of the message, in memory of exactly that size (a
 * sanitizer sees a read too far), and over every version with one 16-bit word set to 0xffff or to
 * 1: lengths and types of attributes among them. It may fail or not; it must come back.
 */
static inline void maim(const struct nlmsghdr *msg, void (*decode)(const struct nlmsghdr *msg))
{
    size_t full = msg->nlmsg_len;
    for (size_t len = sizeof(*msg); len < full; len++) {
        struct nlmsghdr *copy = malloc(len);
        assert_non_null(copy);
        memcpy(copy, msg, len);
        copy->nlmsg_len = (uint32_t)len;
        decode(copy);
        free(copy);
    }
    static const uint16_t words[] = {0xffff, 1};
    for (size_t at = sizeof(*msg); at + 2 <= full; at += 2) {
        for (size_t w = 0; w < 2; w++) {
            struct nlmsghdr *copy = malloc(full);
            assert_non_null(copy);
            memcpy(copy, msg, full);
            memcpy((char *)copy + at, &words[w], 2);
            decode(copy);
            free(copy);
        }
    }
}
