/*
 * tests/unit/agent/test_identity.c - the agent's key and certificate on disk, and what it makes of
 * a server's answer.
 */
#include "tests/unit/test.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <gnutls/x509.h>

#include "agent/enrol.h"
#include "base/file.h"

static struct err err;
static char folder[TEST_PATH_MAX];

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

/* A certificate of the key, signed by itself: who signed it is not the agent's to judge. */
static char *certify(const char *key_pem, const char *node)
{
    gnutls_x509_crt_t crt;
    gnutls_x509_privkey_t key;
    gnutls_datum_t text = {.data = (unsigned char *)key_pem, .size = (unsigned)strlen(key_pem)},
                   out;
    assert_int_equal(gnutls_x509_privkey_init(&key), 0);
    assert_int_equal(gnutls_x509_privkey_import(key, &text, GNUTLS_X509_FMT_PEM), 0);
    assert_int_equal(gnutls_x509_crt_init(&crt), 0);
    gnutls_x509_crt_set_version(crt, 3);
    gnutls_x509_crt_set_serial(crt, "\1", 1);
    gnutls_x509_crt_set_activation_time(crt, time(NULL));
    gnutls_x509_crt_set_expiration_time(crt, time(NULL) + 1000);
    gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, node,
                                  (unsigned)strlen(node));
    gnutls_x509_crt_set_key(crt, key);
    assert_int_equal(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0), 0);
    assert_int_equal(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &out), 0);
    char *pem = strndup((const char *)out.data, out.size);
    gnutls_free(out.data);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
    return pem;
}

static void store(const struct identity *old, struct identity *out)
{
    OWN(x509_key) char *key = NULL;
    assert_ok(x509_key_new(&key, &err));
    OWN(str) char *cert = certify(key, "n1");
    assert_ok(identity_store(folder, "n1", old, key, cert, out, &err));
}

static void a_pair_comes_back_and_is_secret(void **state)
{
    (void)state;
    struct identity stored, loaded;
    struct stat info;
    assert_fails(identity_load(folder, "n1", &loaded, &err), ERR_NOT_FOUND);
    store(NULL, &stored);
    assert_ok(identity_load(folder, "n1", &loaded, &err));
    assert_string_equal(loaded.path, stored.path);
    assert_string_equal(loaded.facts.fingerprint, stored.facts.fingerprint);
    assert_int_equal(stat(loaded.path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_fails(identity_load(folder, "n2", &loaded, &err), ERR_INVALID);
    assert_contains(err.text, "of node 'n1'");
}

static void the_newest_that_reads_counts(void **state)
{
    (void)state;
    struct identity one, two, three, loaded;
    store(NULL, &one);
    store(&one, &two);
    assert_int_equal(access(one.path, F_OK), 0); /* until the one after the next */
    store(&two, &three);
    assert_int_not_equal(access(one.path, F_OK), 0);
    assert_ok(identity_load(folder, "n1", &loaded, &err));
    assert_int_equal(loaded.number, 3);
    assert_ok(file_write_atomic(three.path, "torn", 4, 0600, &err));
    assert_ok(identity_load(folder, "n1", &loaded, &err));
    assert_int_equal(loaded.number, 2);
}

static void what_does_not_belong_together_is_not_stored(void **state)
{
    (void)state;
    struct identity out;
    OWN(x509_key) char *key = NULL;
    OWN(x509_key) char *other = NULL;
    assert_ok(x509_key_new(&key, &err));
    assert_ok(x509_key_new(&other, &err));
    OWN(str) char *cert = certify(key, "n1");
    assert_fails(identity_store(folder, "n1", NULL, other, cert, &out, &err), ERR_INVALID);
    assert_fails(identity_store(folder, "n2", NULL, key, cert, &out, &err), ERR_INVALID);
    assert_fails(identity_store(folder, "n1", NULL, key, "nothing", &out, &err), ERR_INVALID);
    assert_fails(identity_load(folder, "n1", &out, &err), ERR_NOT_FOUND);
}

static void answers_are_not_believed(void **state)
{
    (void)state;
    static const struct {
        long status;
        const char *body;
        enum err_code code;
    } rows[] = {
        {201, "", ERR_INVALID},
        {201, "[]", ERR_INVALID},
        {201, "{}", ERR_INVALID},
        {201, "{\"certificate\":7}", ERR_INVALID},
        {200, "{\"certificate\":\"x\"}", ERR_DENIED},
        {401, "{\"detail\":\"the join token is unknown\"}", ERR_DENIED},
        {404, "<html>", ERR_DENIED},
        {429, "{}", ERR_UNAVAILABLE},
        {503, "", ERR_UNAVAILABLE},
    };
    char *cert = NULL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *body = rows[i].body;
        assert_fails(enrol_read_answer(rows[i].status, body, strlen(body), &cert, &err),
                     rows[i].code);
        assert_null(cert);
    }
    static const char good[] = "{\"certificate\":\"pem\",\"more\":1}";
    assert_ok(enrol_read_answer(201, good, strlen(good), &cert, &err));
    assert_string_equal(cert, "pem");
    free(cert);
}

static void what_is_no_join_token_is_not_sent(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "sj_", "st_0", "sj_0_0", "join"};
    struct identity out;
    struct enrol_config config = {
        .server = "https://127.0.0.1:1", .node = "n1", .state_dir = folder};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        config.token = wrong[i];
        assert_fails(enrol_join(&config, &out, &err), ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(a_pair_comes_back_and_is_secret),
        folder_test(the_newest_that_reads_counts),
        folder_test(what_does_not_belong_together_is_not_stored),
        cmocka_unit_test(answers_are_not_believed),
        folder_test(what_is_no_join_token_is_not_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
