/*
 * tests/fuzz/fuzz_server_csr.c - whatever a node sends as a signing request is read or refused with
 * words; what is read has a key that a certificate can bear.
 */
#include <stdint.h>
#include <stdlib.h>

#include "server/tls_csr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWN(pubkey) gnutls_pubkey_t key = NULL;
    struct err err = ERR_INIT;
    unsigned bits = 0;
    enum err_code code = tls_csr_read((const char *)data, size, &key, &err);
    if ((code == ERR_OK) != (key != NULL) || (code != ERR_OK && err.text[0] == '\0'))
        abort();
    if (code == ERR_OK && (gnutls_pubkey_get_pk_algorithm(key, &bits) < 0 || bits < 256))
        abort();
    return 0;
}
