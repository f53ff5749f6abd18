/*
 * server/tls_names.c - see tls_names.h.
 */
#include "server/tls_names.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_address(const char *text)
{
    unsigned char room[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, text, room) == 1 || inet_pton(AF_INET6, text, room) == 1;
}

bool address_is_any(const char *address)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, address, &v4) == 1)
        return v4.s_addr == 0;
    return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6);
}

/* RFC 1123 2.1: labels of letters, digits and hyphens, 1 to 63 long. */
static bool is_host_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    if (strlen(name) >= TLS_NAME_SIZE)
        return false;
    for (const char *label = name;; label++) {
        size_t len = strspn(label, letters);
        if (len == 0 || len > 63 || label[0] == '-' || label[len - 1] == '-')
            return false;
        label += len;
        if (*label == '\0')
            return true;
        if (*label != '.')
            return false;
    }
}

enum err_code tls_name_check(const char *name, struct err *err)
{
    if (is_address(name) ? !address_is_any(name) : is_host_name(name))
        return ERR_OK;
    return err_set(err, ERR_INVALID, "'%.100s' is neither a host's name nor its address", name);
}

static void add(struct tls_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i], name) == 0)
            return;
    if (names->count < TLS_NAMES_MAX)
        names->list[names->count++] = name;
}

void tls_names_fill(struct tls_names *names, const char *const *given, const char *address)
{
    *names = (struct tls_names){.count = 0};
    for (size_t i = 0; given != NULL && given[i] != NULL; i++)
        add(names, given[i]);
    if (!address_is_any(address))
        add(names, address);
    if (gethostname(names->hostname, sizeof(names->hostname)) == 0 &&
        memchr(names->hostname, '\0', sizeof(names->hostname)) != NULL &&
        is_host_name(names->hostname))
        add(names, names->hostname);
    add(names, "localhost");
    add(names, "127.0.0.1");
    add(names, "::1");
    names->list[names->count] = NULL;
}

void tls_names_url(const struct tls_names *names, bool tls, unsigned port, char out[TLS_URL_SIZE])
{
    const char *name = names->list[0];
    bool v6 = strchr(name, ':') != NULL;
    snprintf(out, TLS_URL_SIZE, "%s://%s%s%s:%u", tls ? "https" : "http", v6 ? "[" : "", name,
             v6 ? "]" : "", port);
}
