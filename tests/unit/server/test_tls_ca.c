/*
 * tests/unit/server/test_tls_ca.c - the authority: what it signs, and the requests it refuses.
 */
#include "tests/unit/test.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gnutls/abstract.h>
#include <gnutls/x509.h>

#include "base/file.h"
#include "server/tls_ca.h"
#include "server/tls_csr.h"

#define NOW_US INT64_C(1700000000000000)

static struct err err;
static char folder[TEST_PATH_MAX];

static const char *in_folder(const char *name)
{
    static char path[TEST_PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int setup(void **state)
{
    (void)state;
    test_folder(folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[TEST_PATH_MAX + 32];
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

#define folder_test(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

static struct tls_ca *open_ca(void)
{
    struct tls_ca *ca = NULL;
    assert_ok(tls_ca_open(folder, NOW_US, &ca, &err));
    return ca;
}

static char *make_request(gnutls_pk_algorithm_t kind, unsigned bits)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crq_t crq;
    gnutls_datum_t text;
    assert_int_equal(gnutls_x509_privkey_init(&key), 0);
    assert_int_equal(gnutls_x509_privkey_generate(key, kind, bits, 0), 0);
    assert_int_equal(gnutls_x509_crq_init(&crq), 0);
    assert_int_equal(gnutls_x509_crq_set_key(crq, key), 0);
    assert_int_equal(gnutls_x509_crq_set_version(crq, 1), 0);
    gnutls_digest_algorithm_t digest =
        kind == GNUTLS_PK_EDDSA_ED25519 ? GNUTLS_DIG_SHA512 : GNUTLS_DIG_SHA256;
    assert_int_equal(gnutls_x509_crq_sign2(crq, key, digest, 0), 0);
    assert_int_equal(gnutls_x509_crq_export2(crq, GNUTLS_X509_FMT_PEM, &text), 0);
    char *out = strndup((const char *)text.data, text.size);
    gnutls_free(text.data);
    gnutls_x509_crq_deinit(crq);
    gnutls_x509_privkey_deinit(key);
    return out;
}

static char *good_request(void)
{
    OWN(x509_key) char *key = NULL;
    char *request = NULL;
    assert_ok(x509_key_new(&key, &err));
    assert_ok(x509_request_new(key, "whatever it says", &request, &err));
    return request;
}

static void the_authority_stays_the_same(void **state)
{
    (void)state;
    struct stat info;
    OWN(tls_ca) struct tls_ca *first = open_ca();
    OWN(tls_ca) struct tls_ca *again = open_ca();
    assert_string_equal(tls_ca_fingerprint(first), tls_ca_fingerprint(again));
    assert_string_equal(tls_ca_pem(first), tls_ca_pem(again));
    assert_int_equal(stat(in_folder("ca.key"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

static void the_authority_is_one_and_has_none_below(void **state)
{
    (void)state;
    OWN(tls_ca) struct tls_ca *ca = open_ca();
    gnutls_x509_crt_t crt;
    unsigned critical, is_ca, usage;
    int path_len;
    gnutls_datum_t text = {.data = (unsigned char *)tls_ca_pem(ca),
                           .size = (unsigned)strlen(tls_ca_pem(ca))};
    assert_int_equal(gnutls_x509_crt_init(&crt), 0);
    assert_int_equal(gnutls_x509_crt_import(crt, &text, GNUTLS_X509_FMT_PEM), 0);
    assert_true(gnutls_x509_crt_get_basic_constraints(crt, &critical, &is_ca, &path_len) >= 0);
    assert_true(is_ca && critical && path_len == 0);
    assert_int_equal(gnutls_x509_crt_get_key_usage(crt, &usage, &critical), 0);
    assert_int_equal(usage, GNUTLS_KEY_KEY_CERT_SIGN);
    gnutls_x509_crt_deinit(crt);
}

static void a_lost_or_foreign_key_stops_the_start(void **state)
{
    (void)state;
    struct tls_ca *ca = NULL;
    OWN(x509_key) char *other = NULL;
    tls_ca_free(open_ca());
    assert_int_equal(chmod(in_folder("ca.key"), 0644), 0);
    assert_fails(tls_ca_open(folder, NOW_US, &ca, &err), ERR_DENIED);
    assert_ok(x509_key_new(&other, &err));
    assert_ok(file_write_atomic(in_folder("ca.key"), other, strlen(other), 0600, &err));
    assert_fails(tls_ca_open(folder, NOW_US, &ca, &err), ERR_INVALID);
    assert_int_equal(unlink(in_folder("ca.key")), 0);
    assert_fails(tls_ca_open(folder, NOW_US, &ca, &err), ERR_NOT_FOUND);
    assert_contains(err.text, folder);
}

static void a_node_is_called_what_the_authority_says(void **state)
{
    (void)state;
    OWN(tls_ca) struct tls_ca *ca = open_ca();
    OWN(str) char *request = good_request();
    struct tls_issued one, two;
    assert_ok(tls_ca_issue_node(ca, request, "n1", NOW_US, &one, &err));
    assert_ok(tls_ca_issue_node(ca, request, "n1", NOW_US, &two, &err));
    assert_string_equal(one.facts.name, "n1");
    assert_string_equal(one.facts.key, two.facts.key);
    assert_string_not_equal(one.facts.serial, two.facts.serial);
    assert_int_equal(strlen(one.facts.serial), 32);
    assert_int_equal(one.facts.not_before_us, NOW_US - TLS_BACKDATE_S * INT64_C(1000000));
    assert_int_equal(one.facts.not_after_us, NOW_US + TLS_NODE_DAYS * INT64_C(86400000000));
    tls_issued_release(&one);
    tls_issued_release(&two);
}

static unsigned verify(const struct tls_ca *ca, const char *pem, const char *purpose,
                       const char *host)
{
    gnutls_x509_trust_list_t list;
    gnutls_x509_crt_t crt;
    unsigned status = 0;
    gnutls_datum_t root = {.data = (unsigned char *)tls_ca_pem(ca),
                           .size = (unsigned)strlen(tls_ca_pem(ca))};
    gnutls_datum_t text = {.data = (unsigned char *)pem, .size = (unsigned)strlen(pem)};
    gnutls_typed_vdata_st data[2] = {
        {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)purpose},
        {.type = GNUTLS_DT_DNS_HOSTNAME, .data = (unsigned char *)host}};
    assert_int_equal(gnutls_x509_trust_list_init(&list, 0), 0);
    assert_int_equal(
        gnutls_x509_trust_list_add_trust_mem(list, &root, NULL, GNUTLS_X509_FMT_PEM, 0, 0), 1);
    assert_int_equal(gnutls_x509_crt_init(&crt), 0);
    assert_int_equal(gnutls_x509_crt_import(crt, &text, GNUTLS_X509_FMT_PEM), 0);
    assert_int_equal(gnutls_x509_trust_list_verify_crt2(list, &crt, 1, data, host != NULL ? 2 : 1,
                                                        GNUTLS_VERIFY_DISABLE_TIME_CHECKS, &status,
                                                        NULL),
                     0);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_trust_list_deinit(list, 1);
    return status;
}

static void a_certificate_serves_one_purpose(void **state)
{
    (void)state;
    static const char *const names[] = {"stellar.example", "192.0.2.1", "2001:db8::1", NULL};
    OWN(tls_ca) struct tls_ca *ca = open_ca();
    OWN(str) char *request = good_request();
    OWN(x509_key) char *key = NULL;
    struct tls_issued node, server;
    assert_ok(x509_key_new(&key, &err));
    assert_ok(tls_ca_issue_node(ca, request, "n1", NOW_US, &node, &err));
    assert_ok(tls_ca_issue_server(ca, key, names, NOW_US, &server, &err));
    assert_ok(x509_pair_check(server.pem, key, &err));
    assert_fails(x509_pair_check(node.pem, key, &err), ERR_INVALID);
    assert_int_equal(verify(ca, node.pem, GNUTLS_KP_TLS_WWW_CLIENT, NULL), 0);
    assert_int_not_equal(verify(ca, node.pem, GNUTLS_KP_TLS_WWW_SERVER, NULL), 0);
    assert_int_not_equal(verify(ca, server.pem, GNUTLS_KP_TLS_WWW_CLIENT, NULL), 0);
    for (size_t i = 0; names[i] != NULL; i++)
        assert_int_equal(verify(ca, server.pem, GNUTLS_KP_TLS_WWW_SERVER, names[i]), 0);
    assert_int_not_equal(verify(ca, server.pem, GNUTLS_KP_TLS_WWW_SERVER, "other.example"), 0);
    tls_issued_release(&node);
    tls_issued_release(&server);
}

/* Requests ------------------------------------------------------------------------------------ */

static enum err_code read_request(const char *text)
{
    OWN(pubkey) gnutls_pubkey_t key = NULL;
    enum err_code code = tls_csr_read(text, strlen(text), &key, &err);
    assert_true((code == ERR_OK) == (key != NULL));
    return code;
}

static void requests_with_keys_that_hold_are_read(void **state)
{
    (void)state;
    OWN(str)
    char *p256 = make_request(GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1));
    OWN(str)
    char *p384 = make_request(GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP384R1));
    OWN(str)
    char *ed =
        make_request(GNUTLS_PK_EDDSA_ED25519, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_ED25519));
    assert_ok(read_request(p256));
    assert_ok(read_request(p384));
    assert_ok(read_request(ed));
}

static void requests_with_other_keys_are_refused(void **state)
{
    (void)state;
    OWN(str) char *rsa = make_request(GNUTLS_PK_RSA, 2048);
    OWN(str)
    char *p521 = make_request(GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP521R1));
    assert_fails(read_request(rsa), ERR_INVALID);
    assert_contains(err.text, "RSA");
    assert_fails(read_request(p521), ERR_INVALID);
}

static void text_around_a_request_is_refused(void **state)
{
    (void)state;
    OWN(str) char *good = good_request();
    OWN(str) char *text = NULL;
    static const struct {
        const char *before, *after;
    } around[] = {{"x", ""}, {"\n", ""}, {"", "x"}, {"", "\n.\n"}};
    for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
        OWN(str) char *changed = NULL;
        assert_true(asprintf(&changed, "%s%s%s", around[i].before, good, around[i].after) > 0);
        assert_fails(read_request(changed), ERR_INVALID);
    }
    assert_true(asprintf(&text, "%s%s", good, good) > 0);
    assert_fails(read_request(text), ERR_INVALID);
}

static void a_request_of_another_kind_is_refused(void **state)
{
    (void)state;
    OWN(tls_ca) struct tls_ca *ca = open_ca();
    OWN(x509_key) char *key = NULL;
    assert_ok(x509_key_new(&key, &err));
    assert_fails(read_request(""), ERR_INVALID);
    assert_fails(read_request(key), ERR_INVALID);
    assert_fails(read_request(tls_ca_pem(ca)), ERR_INVALID);
    assert_fails(read_request("-----BEGIN CERTIFICATE REQUEST-----\nMA==\n"
                              "-----END CERTIFICATE REQUEST-----\n"),
                 ERR_INVALID);
    assert_fails(read_request("-----BEGIN CERTIFICATE REQUEST-----"), ERR_INVALID);
}

/* The DER of a good request with `change` done to it, as PEM. */
static char *changed_request(void (*change)(unsigned char *der, size_t *len))
{
    OWN(str) char *good = good_request();
    unsigned char room[TLS_CSR_MAX];
    gnutls_datum_t text = {.data = (unsigned char *)good, .size = (unsigned)strlen(good)}, der, pem;
    assert_int_equal(gnutls_pem_base64_decode2("NEW CERTIFICATE REQUEST", &text, &der), 0);
    size_t len = der.size;
    memcpy(room, der.data, len);
    gnutls_free(der.data);
    change(room, &len);
    der = (gnutls_datum_t){.data = room, .size = (unsigned)len};
    assert_int_equal(gnutls_pem_base64_encode2("CERTIFICATE REQUEST", &der, &pem), 0);
    char *out = strndup((const char *)pem.data, pem.size);
    gnutls_free(pem.data);
    return out;
}

static void flip_signature(unsigned char *der, size_t *len)
{
    der[*len - 1] ^= 1;
}

static void add_byte(unsigned char *der, size_t *len)
{
    der[(*len)++] = 0;
}

static void cut_byte(unsigned char *der, size_t *len)
{
    (void)der;
    (*len)--;
}

static void leave(unsigned char *der, size_t *len)
{
    (void)der;
    (void)len;
}

static void a_changed_request_is_refused(void **state)
{
    (void)state;
    OWN(str) char *same = changed_request(leave);
    OWN(str) char *flipped = changed_request(flip_signature);
    OWN(str) char *longer = changed_request(add_byte);
    OWN(str) char *shorter = changed_request(cut_byte);
    assert_ok(read_request(same));
    assert_fails(read_request(flipped), ERR_INVALID);
    assert_contains(err.text, "signature");
    assert_fails(read_request(longer), ERR_INVALID);
    assert_fails(read_request(shorter), ERR_INVALID);
}

static void every_flipped_bit_is_refused_without_a_crash(void **state)
{
    (void)state;
    OWN(str) char *good = good_request();
    gnutls_datum_t text = {.data = (unsigned char *)good, .size = (unsigned)strlen(good)}, der, pem;
    assert_int_equal(gnutls_pem_base64_decode2("NEW CERTIFICATE REQUEST", &text, &der), 0);
    for (size_t i = 0; i < der.size; i++) {
        der.data[i] ^= 0x10;
        assert_int_equal(gnutls_pem_base64_encode2("CERTIFICATE REQUEST", &der, &pem), 0);
        OWN(str) char *changed = strndup((const char *)pem.data, pem.size);
        gnutls_free(pem.data);
        assert_fails(read_request(changed), ERR_INVALID);
        der.data[i] ^= 0x10;
    }
    gnutls_free(der.data);
}

static void a_request_of_the_greatest_size_is_looked_at(void **state)
{
    (void)state;
    char text[TLS_CSR_MAX + 2];
    memset(text, 'x', sizeof(text));
    text[TLS_CSR_MAX] = '\0';
    assert_fails(read_request(text), ERR_INVALID);
    text[TLS_CSR_MAX] = 'x';
    text[TLS_CSR_MAX + 1] = '\0';
    assert_fails(read_request(text), ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(the_authority_stays_the_same),
        folder_test(the_authority_is_one_and_has_none_below),
        folder_test(a_lost_or_foreign_key_stops_the_start),
        folder_test(a_node_is_called_what_the_authority_says),
        folder_test(a_certificate_serves_one_purpose),
        cmocka_unit_test(requests_with_keys_that_hold_are_read),
        cmocka_unit_test(requests_with_other_keys_are_refused),
        cmocka_unit_test(text_around_a_request_is_refused),
        folder_test(a_request_of_another_kind_is_refused),
        cmocka_unit_test(a_changed_request_is_refused),
        cmocka_unit_test(every_flipped_bit_is_refused_without_a_crash),
        cmocka_unit_test(a_request_of_the_greatest_size_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
