/*
 * datapath/verbs/address.c - see address.h. Called by what connects: ping.c and bench.c.
 */
#include "datapath/verbs/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

bool verbs_address(const char *text, uint16_t port, struct sockaddr_storage *out)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    memset(out, 0, sizeof(*out));
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        memcpy(out, &v4, sizeof(v4));
    else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
        memcpy(out, &v6, sizeof(v6));
    else
        return false;
    return true;
}
