/*
 * agent/identity.c - see identity.h.
 */
#include "agent/identity.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/own.h"

/* The N of "identity-N.pem", 0 = another name. */
static int64_t number_of(const char *name)
{
    int64_t number = 0;
    int end = 0;
    if (sscanf(name, "identity-%9" SCNd64 ".pem%n", &number, &end) != 1 || end == 0 ||
        name[end] != '\0' || number < 1)
        return 0;
    return number;
}

static enum err_code path_of(const char *state_dir, int64_t number, char out[KEEP_PATH_MAX],
                             struct err *err)
{
    char name[40];
    snprintf(name, sizeof(name), "identity-%" PRId64 ".pem", number);
    return keep_path(state_dir, name, out, err);
}

/* The highest number that is below `below`; 0 = none. */
static int64_t highest(const char *state_dir, int64_t below)
{
    int64_t found = 0;
    DIR *folder = opendir(state_dir);
    if (folder == NULL)
        return 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        int64_t number = number_of(entry->d_name);
        if (number > found && number < below)
            found = number;
    }
    closedir(folder);
    return found;
}

static enum err_code read_one(const char *state_dir, const char *node, int64_t number,
                              struct identity *out, struct err *err)
{
    OWN(x509_key) char *text = NULL;
    size_t len;
    struct identity identity = {.number = number};
    enum err_code code = path_of(state_dir, number, identity.path, err);
    if (code == ERR_OK)
        code = file_read_regular(identity.path, X509_PEM_MAX, &text, &len, err);
    if (code == ERR_OK)
        code = x509_pair_check(text, text, err);
    if (code == ERR_OK)
        code = x509_facts(text, &identity.facts, err);
    if (code == ERR_OK && strcmp(identity.facts.name, node) != 0)
        code = err_set(err, ERR_INVALID, "it is of node '%s', this is '%s'", identity.facts.name,
                       node);
    if (code != ERR_OK)
        return err_context(err, "%s", identity.path);
    *out = identity;
    return ERR_OK;
}

enum err_code identity_load(const char *state_dir, const char *node, struct identity *out,
                            struct err *err)
{
    struct err why = ERR_INIT;
    enum err_code code = err_set(&why, ERR_NOT_FOUND, "%s holds no certificate", state_dir);
    for (int64_t n = highest(state_dir, IDENTITY_MAX + 1); n > 0; n = highest(state_dir, n)) {
        struct err other = ERR_INIT;
        code = read_one(state_dir, node, n, out, &other);
        if (code == ERR_OK)
            return ERR_OK;
        log_warning("agent", "node %s: %s", node, other.text);
        why = other;
    }
    if (err != NULL)
        *err = why;
    return code;
}

/* Best effort: one that stays is not looked at while a newer one is there. */
static void remove_below(const char *state_dir, int64_t below)
{
    char path[KEEP_PATH_MAX];
    for (int64_t n = highest(state_dir, below); n > 0; n = highest(state_dir, n))
        if (path_of(state_dir, n, path, NULL) == ERR_OK && unlink(path) != 0)
            log_warning("agent", "cannot remove %s: %s", path, strerror(errno));
}

enum err_code identity_store(const char *state_dir, const char *node, const struct identity *old,
                             const char *key_pem, const char *cert_pem, struct identity *out,
                             struct err *err)
{
    struct identity fresh = {.number = highest(state_dir, IDENTITY_MAX) + 1};
    OWN(x509_key) char *text = NULL;
    enum err_code code = x509_pair_check(cert_pem, key_pem, err);
    if (code == ERR_OK)
        code = x509_facts(cert_pem, &fresh.facts, err);
    if (code == ERR_OK && strcmp(fresh.facts.name, node) != 0)
        code = err_set(err, ERR_INVALID, "the certificate is for node '%s', this is '%s'",
                       fresh.facts.name, node);
    if (code == ERR_OK)
        code = path_of(state_dir, fresh.number, fresh.path, err);
    if (code != ERR_OK)
        return code;
    int len = asprintf(&text, "%s%s", key_pem, cert_pem);
    if (len < 0) {
        text = NULL;
        return err_nomem(err);
    }
    code = file_write_atomic(fresh.path, text, (size_t)len, 0600, err);
    if (code != ERR_OK)
        return code;
    remove_below(state_dir, old != NULL ? old->number : fresh.number);
    *out = fresh;
    return ERR_OK;
}
