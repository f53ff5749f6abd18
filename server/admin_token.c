/*
 * server/admin_token.c - see admin_token.h.
 */
#include "server/admin_token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "db/tables.h"

#define PATH_SIZE 4096

struct new_token {
    char id[TOKEN_ID_SIZE];
    char hash[DIGEST_TEXT_MAX];
    const char *reason;
};

static enum err_code store(struct db_tx *tx, void *arg, struct err *err)
{
    const struct new_token *new = arg;
    char subject[TOKEN_ID_SIZE + 8];
    snprintf(subject, sizeof(subject), "token/%s", new->id);
    const struct db_token row = {.id = new->id,
                                 .hash = new->hash,
                                 .role = role_name(ROLE_ADMIN),
                                 .scopes = SCOPE_ALL,
                                 .description = new->reason,
                                 .created_by = "stellard",
                                 .created_us = db_tx_now_us(tx)};
    const struct db_audit audit = {.actor = "stellard",
                                   .action = "token.post",
                                   .subject = subject,
                                   .reason = new->reason,
                                   .after = row.role};
    enum err_code code = token_put(tx, &row, err);
    return code != ERR_OK ? code : audit_add(tx, &audit, err);
}

/* The file comes before the row: after a crash in between there is a file whose token is not known,
 * and the next start writes a new one. */
static enum err_code make(struct db *db, const char *data_dir, struct new_token *new,
                          struct err *err)
{
    char path[PATH_SIZE], token[TOKEN_TEXT_MAX], line[TOKEN_TEXT_MAX + 1];
    unsigned char id[8];
    token_make("st_", token, new->hash);
    random_bytes(id, sizeof(id));
    hex_encode(id, sizeof(id), new->id);
    snprintf(path, sizeof(path), "%s/admin.token", data_dir);
    int n = snprintf(line, sizeof(line), "%s\n", token);
    enum err_code code = file_write_atomic(path, line, (size_t)n, 0600, err);
    explicit_bzero(line, sizeof(line));
    explicit_bzero(token, sizeof(token));
    if (code == ERR_OK)
        code = file_give_to_folder(path, err);
    if (code == ERR_OK)
        code = db_write_wait(db, store, new, err);
    if (code == ERR_OK)
        log_info("stellard", "%s: the admin's token is in %s", new->reason, path);
    return code;
}

static enum err_code count_admins(struct db_ro *ro, void *arg, struct err *err)
{
    return admins_count(ro, arg, err);
}

/* DATA/url is written last of a first start: with it there, a store without an admin was lost, or
 * put back without its log. Starting anew in silence would hide that. */
static enum err_code check_not_lost(const char *data_dir, struct err *err)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "%s/url", data_dir);
    if (access(path, F_OK) != 0)
        return ERR_OK;
    return err_set(err, ERR_CONFLICT,
                   "a server has run in %s, but stellar.db there knows no admin's token: the store "
                   "is lost or incomplete. Restore stellar.db together with stellar.db-wal, or "
                   "remove %s to go on with what is there and a new admin.token",
                   data_dir, path);
}

enum err_code admin_token_first(struct app *app, const char *data_dir, struct err *err)
{
    struct new_token new = {.reason = "first start"};
    int64_t admins = 0;
    enum err_code code = db_read_wait(app->db, count_admins, &admins, err);
    if (code == ERR_OK && admins > 0)
        return ERR_OK;
    if (code == ERR_OK)
        code = check_not_lost(data_dir, err);
    if (code == ERR_OK)
        code = make(app->db, data_dir, &new, err);
    if (code != ERR_OK)
        return code;
    struct auth_token *known = calloc(1, sizeof(*known));
    if (known == NULL)
        return err_nomem(err);
    memcpy(known->hash, new.hash, sizeof(known->hash));
    known->principal.role = ROLE_ADMIN;
    known->principal.scopes = SCOPE_ALL;
    snprintf(known->principal.name, sizeof(known->principal.name), "token:%s", new.id);
    memcpy(known->principal.credential, new.id, sizeof(new.id));
    auth_put(app->auth, known, false);
    return ERR_OK;
}

enum err_code admin_token_new(const char *data_dir, struct err *err)
{
    struct new_token new = {.reason = "new admin's token"};
    OWN(db) struct db *db = NULL;
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "%s/stellar.db", data_dir);
    if (access(path, F_OK) != 0)
        return err_set(err, ERR_NOT_FOUND,
                       "there is no store %s: a first start of stellard makes one, and an admin's "
                       "token",
                       path);
    enum err_code code = db_open(path, clock_system(), NULL, &db, err);
    return code == ERR_OK ? make(db, data_dir, &new, err) : code;
}
