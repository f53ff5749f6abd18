/*
 * fleet/ip_prefix.c - see ip_prefix.h.
 */
#include "fleet/ip_prefix.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define IP_TEXT_MAX (INET6_ADDRSTRLEN + 4)

/* Sets every bit behind the prefix to 0; true when one was 1. */
static bool clear_host_bits(struct ip_prefix *prefix)
{
    bool any = false;
    for (int i = 0; i < (int)sizeof(prefix->addr); i++) {
        int bits = prefix->prefix_len - 8 * i;
        unsigned host = bits >= 8 ? 0 : bits <= 0 ? 0xff : 0xffU >> bits;
        any |= (prefix->addr[i] & host) != 0;
        prefix->addr[i] = (uint8_t)(prefix->addr[i] & ~host);
    }
    return any;
}

static bool prefix_len_parse(const char *text, int max, int *out)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 3 || text[digits] != '\0' || (digits > 1 && text[0] == '0'))
        return false;
    *out = atoi(text);
    return *out <= max;
}

static bool parse(const char *text, struct ip_prefix *out)
{
    char address[IP_TEXT_MAX];
    const char *slash = strchr(text, '/');
    size_t len = slash == NULL ? strlen(text) : (size_t)(slash - text);
    if (len >= sizeof(address))
        return false;
    memcpy(address, text, len);
    address[len] = '\0';
    memset(out, 0, sizeof(*out));
    out->family = strchr(address, ':') != NULL ? AF_INET6 : AF_INET;
    if (inet_pton(out->family, address, out->addr) != 1)
        return false;
    int max = out->family == AF_INET ? 32 : 128;
    out->prefix_len = max;
    return slash == NULL || prefix_len_parse(slash + 1, max, &out->prefix_len);
}

enum err_code ip_prefix_parse(const char *text, struct ip_prefix *out, struct err *err)
{
    struct ip_prefix prefix;
    char quoted[IP_PREFIX_TEXT_MAX], meant[IP_PREFIX_TEXT_MAX];
    text_quote(text, strlen(text), quoted, sizeof(quoted));
    if (!parse(text, &prefix))
        return err_set(err, ERR_INVALID, "'%s' is no IP address or prefix such as \"10.9.0.0/24\"",
                       quoted);
    if (clear_host_bits(&prefix)) {
        ip_prefix_format(&prefix, true, meant);
        return err_set(err, ERR_INVALID,
                       "'%s' has bits behind its prefix; write \"%s\" for the network", quoted,
                       meant);
    }
    *out = prefix;
    return ERR_OK;
}

void ip_prefix_format(const struct ip_prefix *prefix, bool full, char out[IP_PREFIX_TEXT_MAX])
{
    char address[INET6_ADDRSTRLEN] = "";
    int max = prefix->family == AF_INET ? 32 : 128;
    inet_ntop(prefix->family, prefix->addr, address, sizeof(address));
    if (prefix->prefix_len == max && !full)
        snprintf(out, IP_PREFIX_TEXT_MAX, "%s", address);
    else
        snprintf(out, IP_PREFIX_TEXT_MAX, "%s/%d", address, prefix->prefix_len);
}

bool ip_prefix_covers(const struct ip_prefix *outer, const struct ip_prefix *inner)
{
    if (outer->family != inner->family || outer->prefix_len > inner->prefix_len)
        return false;
    struct ip_prefix cut = *inner;
    cut.prefix_len = outer->prefix_len;
    clear_host_bits(&cut);
    return memcmp(cut.addr, outer->addr, sizeof(cut.addr)) == 0;
}
