/*
 * tests/api/certtool.c - certificates that a server does not give: certtool DATA NODE DAYS prints a
 * key and a node's certificate by the authority in DATA, made as if it were DAYS ago; certtool
 * request NAME prints a signing request of a new key.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/tls_ca.h"

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    OWN(x509_key) char *key = NULL;
    OWN(str) char *request = NULL;
    OWN(tls_ca) struct tls_ca *ca = NULL;
    struct tls_issued issued = {.pem = NULL};
    struct clock *clock = clock_system();
    if (argc < 3)
        return 2;
    int64_t days = argc > 3 ? strtoll(argv[3], NULL, 10) : 0;
    int64_t now_us = clock->wall_us(clock) - days * INT64_C(86400000000);
    enum err_code code = x509_key_new(&key, &err);
    if (code == ERR_OK)
        code = x509_request_new(key, argv[2], &request, &err);
    if (code == ERR_OK && strcmp(argv[1], "request") == 0) {
        fputs(request, stdout);
        return 0;
    }
    if (code == ERR_OK)
        code = tls_ca_open(argv[1], now_us, &ca, &err);
    if (code == ERR_OK)
        code = tls_ca_issue_node(ca, request, argv[2], now_us, &issued, &err);
    if (code != ERR_OK) {
        fprintf(stderr, "certtool: %s\n", err.text);
        return 1;
    }
    printf("%s%s", key, issued.pem);
    tls_issued_release(&issued);
    return 0;
}
