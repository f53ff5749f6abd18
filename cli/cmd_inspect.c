/*
 * cli/cmd_inspect.c - stellarctl inspect: what files say, by the server's readers.
 */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/body.h"
#include "cli/command.h"
#include "cli/view.h"

#define NAME_MAX_SHOWN 1024 /* bytes of "ARCHIVE: PATH"; the rest is cut */

static const struct view findings_view = {
    .name = "rule",
    .columns =
        {
            {.title = "FILE", .path = "file"},
            {.title = "KIND", .path = "kind"},
            {.title = "SEVERITY", .path = "severity"},
            {.title = "RULE", .path = "rule"},
            {.title = "SUBJECT", .path = "subject"},
            {.title = "LINE", .path = "line", .right = true},
            {.title = "COUNT", .path = "count", .right = true},
            {.title = "MESSAGE", .path = "message"},
        },
};

/* A row for each finding; a file without one has a row that says so. False = no memory. */
static bool add_rows(json_t *rows, const char *file, const json_t *evidence)
{
    const json_t *kind = json_object_get(evidence, "kind");
    const json_t *findings = json_object_get(evidence, "findings");
    size_t count = json_array_size(findings);
    bool known = json_is_string(kind) && strcmp(json_string_value(kind), "unknown") != 0;
    for (size_t i = 0; i < count || (i == 0 && count == 0); i++) {
        OWN(json)
        json_t *row = count > 0 ? json_copy(json_array_get(findings, i))
                                : json_pack("{s:s}", "message",
                                            known ? "nothing is wrong with what it says"
                                                  : "nobody knows what this is");
        if (row == NULL || json_object_set_new(row, "file", json_string(file)) != 0 ||
            json_object_set(row, "kind", (json_t *)kind) != 0 || json_array_append(rows, row) != 0)
            return false;
    }
    return true;
}

/* The rows of one file of an archive; what nobody knows is counted in *unknown. */
static bool add_member_rows(json_t *rows, const char *archive, const json_t *file, size_t *unknown)
{
    const char *path = json_string_value(json_object_get(file, "path"));
    const char *state = json_string_value(json_object_get(file, "state"));
    if (path == NULL || state == NULL)
        return true;
    char name[NAME_MAX_SHOWN];
    snprintf(name, sizeof(name), "%s: %s", archive, path);
    if (strcmp(state, "unknown") == 0) {
        ++*unknown;
        return true;
    }
    if (strcmp(state, "read") == 0)
        return add_rows(rows, name, json_object_get(file, "evidence"));
    return json_array_append_new(rows, json_pack("{s:s,s:s,s:s+}", "file", name, "kind", "-",
                                                 "message", "not read: ", state)) == 0;
}

static bool add_archive_rows(json_t *rows, const char *archive, const json_t *document)
{
    const json_t *files = json_object_get(document, "files");
    size_t unknown = 0;
    for (size_t i = 0; i < json_array_size(files); i++) {
        if (!add_member_rows(rows, archive, json_array_get(files, i), &unknown))
            return false;
    }
    bool cut = json_is_true(json_object_get(document, "truncated"));
    char message[128];
    snprintf(message, sizeof(message), "%zu of its files nobody knows%s", unknown,
             cut ? "; it was not read to its end" : "");
    return (unknown == 0 && !cut) ||
           json_array_append_new(rows, json_pack("{s:s,s:s,s:s}", "file", archive, "kind",
                                                 "archive", "message", message)) == 0;
}

static bool is_archive(const json_t *document)
{
    const char *kind = json_string_value(json_object_get(document, "kind"));
    return kind != NULL && strcmp(kind, "archive") == 0;
}

static enum exit_code inspect_one(struct context *context, const char *path, json_t *rows,
                                  json_t *documents)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    if (body_call("POST", "/v1/health:inspect", &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call.body_path = path;
    call.content_type = "application/octet-stream";
    enum exit_code code = context_call(context, &call, &reply);
    if (code != EXIT_DONE || reply.printed)
        return code;
    bool added = is_archive(reply.json) ? add_archive_rows(rows, path, reply.json)
                                        : add_rows(rows, path, reply.json);
    if (!added || json_array_append_new(documents, json_pack("{s:s,s:O}", "file", path, "evidence",
                                                             reply.json)) != 0) {
        (void)err_nomem(&err);
        return context_fail(context, &err);
    }
    return EXIT_DONE;
}

enum exit_code cmd_inspect(struct context *context, const struct arguments *arguments)
{
    OWN(json) json_t *rows = json_array();
    OWN(json) json_t *documents = json_array();
    enum exit_code worst = EXIT_DONE;
    for (size_t i = 0; i < arguments->word_count; i++) {
        enum exit_code code = inspect_one(context, arguments->words[i], rows, documents);
        worst = code != EXIT_DONE ? code : worst;
    }
    if (json_array_size(documents) == 0)
        return worst;
    enum exit_code shown =
        context->output == OUTPUT_JSON
            ? view_show_json(context,
                             arguments->word_count == 1
                                 ? json_object_get(json_array_get(documents, 0), "evidence")
                                 : documents)
            : view_show(context, &findings_view, rows);
    return worst != EXIT_DONE ? worst : shown;
}
