#pragma once
/*
 * tests/fuzz/message.h - what the fuzzers of datapath/nl share: bytes as one message of the kernel,
 * and texts that came out of it.
 */
#include <linux/netlink.h>

#include "base/text.h"
#include "tests/fuzz/fuzz.h"

/* malloc'ed; NULL = too short to be one. nlx checks nlmsg_len before anyone decodes. */
static inline struct nlmsghdr *message_of(const uint8_t *data, size_t size)
{
    struct nlmsghdr *msg = size < sizeof(*msg) ? NULL : malloc(size);
    if (msg != NULL) {
        memcpy(msg, data, size);
        msg->nlmsg_len = (uint32_t)size;
    }
    return msg;
}

/* Ends within its room, is UTF-8 and shows all that it has: an inventory takes it. */
static inline void check_text(const char *text, size_t size)
{
    must(memchr(text, '\0', size) != NULL);
    must(!text_find_hidden(text, strlen(text), NULL));
}
