/*
 * cli/cmd_image.c - stellarctl image upload: a firmware image with its digest.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/sha256.h"
#include "cli/body.h"
#include "cli/command.h"
#include "cli/write.h"

#define PIECE_BYTES 65536

static enum err_code digest_file(const char *path, char out[SHA256_HEX_SIZE], struct err *err)
{
    OWN(sha256) struct sha256 *hash = sha256_new();
    char piece[PIECE_BYTES];
    size_t n;
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return err_set_errno(err, ERR_IO, errno, "cannot read %s", path);
    while (hash != NULL && (n = fread(piece, 1, sizeof(piece), file)) > 0)
        sha256_add(hash, piece, n);
    bool bad = ferror(file) != 0;
    int why = errno;
    fclose(file);
    if (hash == NULL)
        return err_nomem(err);
    if (bad)
        return err_set_errno(err, ERR_IO, why, "cannot read %s", path);
    sha256_end(hash, out);
    return ERR_OK;
}

/* The digest is taken first: what changes or breaks on the way is refused by the server. */
enum exit_code cmd_image_upload(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    char digest[SHA256_HEX_SIZE], what[160];
    const char *path = arguments->words[0], *slash = strrchr(path, '/');
    enum err_code code = body_call("POST", "/v1/firmware/images", &call, &err);
    if (code == ERR_OK)
        code = digest_file(path, digest, &err);
    if (code != ERR_OK)
        return context_fail(context, &err);
    call.body_path = path;
    call_add(&call, OPERATION_QUERY, "component", arguments->words[1]);
    call_add(&call, OPERATION_QUERY, "version", arguments->words[2]);
    call_add(&call, OPERATION_QUERY, "psid", arguments_get(arguments, OPTION_PSID));
    call_add(&call, OPERATION_QUERY, "sha256", digest);
    call_add(&call, OPERATION_QUERY, "name", slash != NULL ? slash + 1 : path);
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    enum exit_code done = context_call(context, &call, &reply);
    const char *id = json_string_value(json_object_get(reply.json, "id"));
    snprintf(what, sizeof(what), "image %.120s", id != NULL ? id : "");
    if (done == EXIT_DONE)
        write_report(context, what, "done", &reply);
    return done;
}
