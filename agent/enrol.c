/*
 * agent/enrol.c - see enrol.h.
 */
#include "agent/enrol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/http_client.h"
#include "base/json.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"

#define HEX_DIGITS       "0123456789abcdef"
#define HASH_HEX         64
#define URL_MAX          1024
#define ENROL_TIMEOUT_NS (20 * NS_PER_S)

/* "sj_SECRET_PIN"; the pin's place in it. */
static enum err_code token_pin(const char *token, const char **out_pin, struct err *err)
{
    const char *secret = token + 3;
    if (strncmp(token, "sj_", 3) != 0 || strspn(secret, HEX_DIGITS) != HASH_HEX ||
        secret[HASH_HEX] != '_' || strspn(secret + HASH_HEX + 1, HEX_DIGITS) != HASH_HEX ||
        secret[2 * HASH_HEX + 1] != '\0')
        return err_set(err, ERR_INVALID,
                       "what --join was given is no join token: take join_token of POST "
                       "/v1/nodes/NODE/join-token, whole");
    *out_pin = secret + HASH_HEX + 1;
    return ERR_OK;
}

enum err_code enrol_ca_path(const char *state_dir, const char *server_ca, char out[KEEP_PATH_MAX],
                            struct err *err)
{
    if (server_ca == NULL)
        return keep_path(state_dir, "ca.crt", out, err);
    int n = snprintf(out, KEEP_PATH_MAX, "%s", server_ca);
    return n >= 0 && n < KEEP_PATH_MAX ? ERR_OK : err_set(err, ERR_LIMIT, "the path is too long");
}

/* The server's own words for a refusal, made harmless. */
static enum err_code refused(long status, const char *body, size_t len, struct err *err)
{
    OWN(json) json_t *problem = NULL;
    char text[256] = "";
    if (json_parse_limit(body, len, JSON_TEXT_MAX, false, &problem, NULL) == ERR_OK) {
        const char *detail = json_string_value(json_object_get(problem, "detail"));
        if (detail != NULL)
            text_quote(detail, strlen(detail), text, sizeof(text));
    }
    bool later = status >= 500 || status == 408 || status == 429;
    return err_set(err, later ? ERR_UNAVAILABLE : ERR_DENIED, "the server answers %ld: %s", status,
                   text);
}

enum err_code enrol_read_answer(long status, const char *body, size_t len, char **out_cert_pem,
                                struct err *err)
{
    OWN(json) json_t *answer = NULL;
    if (status != 201)
        return refused(status, body, len, err);
    enum err_code code = json_parse_limit(body, len, JSON_TEXT_MAX, false, &answer, err);
    if (code != ERR_OK)
        return err_context(err, "the server's answer");
    const char *pem = json_string_value(json_object_get(answer, "certificate"));
    if (pem == NULL)
        return err_set(err, ERR_INVALID, "the server's answer holds no certificate");
    *out_cert_pem = strdup(pem);
    return *out_cert_pem != NULL ? ERR_OK : err_nomem(err);
}

/* Steps ---------------------------------------------------------------------------------------- */

static enum err_code get_key(const char *state_dir, char **out, struct err *err)
{
    char path[KEEP_PATH_MAX];
    size_t len;
    enum err_code code = keep_path(state_dir, "enrol.key", path, err);
    if (code != ERR_OK)
        return code;
    code = file_read_regular(path, X509_PEM_MAX, out, &len, err);
    if (code != ERR_NOT_FOUND)
        return code;
    OWN(x509_key) char *key = NULL;
    code = x509_key_new(&key, err);
    if (code == ERR_OK)
        code = file_write_atomic(path, key, strlen(key), 0600, err);
    if (code == ERR_OK)
        *out = GIVE(key);
    return code;
}

/* With an operator's own authority the server is known before; else by the hash that comes here. */
static enum err_code get_authority(const struct enrol_config *config, const char *pin,
                                   struct err *err)
{
    char url[URL_MAX], path[KEEP_PATH_MAX];
    OWN(str) char *pem = NULL;
    struct x509_facts facts;
    long status;
    size_t len;
    snprintf(url, sizeof(url), "%s/v1/ca", config->server);
    const struct http_request request = {
        .method = "GET", .url = url, .deadline_ns = ENROL_TIMEOUT_NS, .ca_file = config->server_ca};
    enum err_code code = config->server_ca != NULL
                             ? http_call(&request, &status, &pem, &len, err)
                             : http_fetch_unverified(url, &status, &pem, &len, err);
    if (code == ERR_OK && status != 200)
        code = refused(status, pem, len, err);
    if (code == ERR_OK && len > X509_PEM_MAX)
        code = err_set(err, ERR_LIMIT, "the certificate of its authority is too long");
    if (code == ERR_OK)
        code = x509_facts(pem, &facts, err);
    if (code != ERR_OK)
        return code;
    if (strcmp(facts.fingerprint, pin) != 0)
        return err_set(err, ERR_DENIED,
                       "%s is not the server that made the join token: its authority has the "
                       "SHA-256 %s, the token says %s",
                       config->server, facts.fingerprint, pin);
    code = keep_path(config->state_dir, "ca.crt", path, err);
    return code == ERR_OK ? file_write_atomic(path, pem, len, 0644, err) : code;
}

static enum err_code spend(const struct enrol_config *config, const char *key_pem,
                           char **out_cert_pem, struct err *err)
{
    char url[URL_MAX], ca_path[KEEP_PATH_MAX];
    OWN(str) char *csr = NULL;
    OWN(str) char *body = NULL;
    OWN(str) char *answer = NULL;
    OWN(json) json_t *document = NULL;
    size_t body_len, len;
    long status;
    enum err_code code = enrol_ca_path(config->state_dir, config->server_ca, ca_path, err);
    if (code == ERR_OK && x509_request_new(key_pem, config->node, &csr, err) != ERR_OK)
        code = err_context(err,
                           "%s/enrol.key is of no use (when it is removed, a new one is made; a "
                           "token that was used with it needs another)",
                           config->state_dir);
    if (code != ERR_OK)
        return code;
    document = json_pack("{ss, ss}", "join_token", config->token, "csr", csr);
    body = document == NULL ? NULL : json_canonical(document, &body_len);
    if (body == NULL)
        return err_nomem(err);
    snprintf(url, sizeof(url), "%s/v1/agent/enrol", config->server);
    const struct http_request request = {.method = "POST",
                                         .url = url,
                                         .body = body,
                                         .body_len = body_len,
                                         .deadline_ns = ENROL_TIMEOUT_NS,
                                         .ca_file = ca_path};
    code = http_call(&request, &status, &answer, &len, err);
    explicit_bzero(body, body_len);
    return code == ERR_OK ? enrol_read_answer(status, answer, len, out_cert_pem, err) : code;
}

/* Life ----------------------------------------------------------------------------------------- */

static bool was_spent(const struct enrol_config *config, const char *hash)
{
    char path[KEEP_PATH_MAX];
    OWN(str) char *spent = NULL;
    size_t len;
    return keep_path(config->state_dir, "joined", path, NULL) == ERR_OK &&
           file_read_regular(path, DIGEST_TEXT_MAX, &spent, &len, NULL) == ERR_OK &&
           strcmp(spent, hash) == 0;
}

/* What would keep the certificate from being kept is found before the token is spent for it. */
static enum err_code can_keep(const struct enrol_config *config, struct err *err)
{
    char path[KEEP_PATH_MAX];
    struct stat st;
    enum err_code code = keep_path(config->state_dir, "joined", path, err);
    if (code == ERR_OK && lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return err_set(err, ERR_INVALID, "%s is a folder: remove it", path);
    return code;
}

/* The token brought a certificate once that is here and cannot be used; it brings no other. */
static enum err_code say_spoiled(const struct enrol_config *config, const struct err *why,
                                 struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "node %s: the join token was used already and its certificate is spoiled: %s; "
                   "put the file back, or start with a new join_token of POST "
                   "/v1/nodes/%s/join-token",
                   config->node, why->text, config->node);
}

static enum err_code keep(const struct enrol_config *config, const char *hash, const char *key_pem,
                          const char *cert_pem, struct identity *out, struct err *err)
{
    char path[KEEP_PATH_MAX];
    enum err_code code =
        identity_store(config->state_dir, config->node, NULL, key_pem, cert_pem, out, err);
    if (code == ERR_OK)
        code = keep_path(config->state_dir, "joined", path, err);
    if (code == ERR_OK)
        code = file_write_atomic(path, hash, strlen(hash), 0600, err);
    return code == ERR_OK ? keep_remove_durable(config->state_dir, "enrol.key", err) : code;
}

enum err_code enrol_join(const struct enrol_config *config, struct identity *out, struct err *err)
{
    char hash[DIGEST_TEXT_MAX];
    const char *pin = NULL;
    OWN(x509_key) char *key_pem = NULL;
    OWN(str) char *cert_pem = NULL;
    enum err_code code = token_pin(config->token, &pin, err);
    if (code != ERR_OK)
        return code;
    bytes_digest(config->token, strlen(config->token), hash);
    if (was_spent(config, hash)) {
        struct err why = ERR_INIT;
        code = identity_load(config->state_dir, config->node, out, &why);
        if (code != ERR_OK && code != ERR_NOT_FOUND)
            return say_spoiled(config, &why, err);
        if (code == ERR_OK)
            return code;
    }
    code = can_keep(config, err);
    if (code == ERR_OK)
        code = get_key(config->state_dir, &key_pem, err);
    if (code == ERR_OK)
        code = get_authority(config, pin, err);
    if (code == ERR_OK)
        code = spend(config, key_pem, &cert_pem, err);
    if (code == ERR_OK)
        code = keep(config, hash, key_pem, cert_pem, out, err);
    if (code != ERR_OK)
        return err_context(err, "enrolling node %s", config->node);
    log_info("agent", "node %s: enrolled at %s, certificate %s", config->node, config->server,
             out->facts.fingerprint);
    return ERR_OK;
}
