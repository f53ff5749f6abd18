/*
 * cli/cmd_api.c - stellarctl api OPERATION: any operation of the API, as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/pairs.h"

static enum err_code find_operation(const char *id, const struct operation **out, struct err *err)
{
    char quoted[80];
    *out = operation_find(id);
    if (*out != NULL)
        return ERR_OK;
    const char *close = operation_suggest(id);
    text_quote(id, strlen(id), quoted, sizeof(quoted));
    return err_set(err, ERR_INVALID, "there is no operation '%s'%s%s%s", quoted,
                   close != NULL ? "; did you mean " : "", close != NULL ? close : "",
                   close != NULL ? "?" : "; stellarctl api lists them");
}

static enum exit_code list_operations(struct context *context)
{
    static const struct view view = {"operation",
                                     {COLUMN("OPERATION", "operation"), COLUMN("METHOD", "method"),
                                      COLUMN("PATH", "path"), COLUMN("SUMMARY", "summary")}};
    OWN(json) json_t *items = json_array();
    struct err err = ERR_INIT;
    for (size_t i = 0; i < operation_count; i++)
        json_array_append_new(items,
                              json_pack("{s:s, s:s, s:s, s:s}", "operation", operations[i].id,
                                        "method", operations[i].method, "path", operations[i].path,
                                        "summary", operations[i].summary));
    return view_print(context, &view, items, &err) == ERR_OK ? EXIT_DONE
                                                             : context_fail(context, &err);
}

/* To a terminal only what it may show; to anything else the bytes. */
static enum err_code print_body(struct context *context, const struct reply *reply, struct err *err)
{
    if (reply->json != NULL && context->output != OUTPUT_JSONL)
        return print_json(context->out, reply->json, 2, err);
    if (reply->json != NULL)
        return print_json(context->out, reply->json, 0, err);
    if (context->width > 0)
        print_visible(context->out, reply->answer.body, reply->answer.body_len);
    else
        fwrite(reply->answer.body, 1, reply->answer.body_len, context->out);
    return ERR_OK;
}

static bool write_file(void *arg, const char *data, size_t len)
{
    return fwrite(data, 1, len, arg) == len;
}

/* Closes what was written; the error names `path`. */
static enum exit_code finish_file(struct context *context, FILE *file, const char *part,
                                  const char *path)
{
    struct err err = ERR_INIT;
    bool bad = ferror(file) != 0;
    bad = fclose(file) != 0 || bad;
    if (!bad && (strcmp(part, path) == 0 || rename(part, path) == 0))
        return EXIT_DONE;
    err_set_errno(&err, ERR_IO, errno, "%s was not written whole", path);
    return context_fail(context, &err);
}

/* Collected in `part` and renamed when it is whole: what stood at `path` stays until then. They are
 * the same for a device or a pipe, into which the answer goes as it comes. */
static enum exit_code receive(struct context *context, const struct call *call, const char *part,
                              const char *path)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    bool beside = strcmp(part, path) != 0;
    int fd = open(part, O_WRONLY | O_CLOEXEC | (beside ? O_CREAT | O_TRUNC | O_NOFOLLOW : 0), 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (file == NULL) {
        err_set_errno(&err, ERR_IO, errno, "cannot write %s", part);
        return context_fail(context, &err);
    }
    const struct sink sink = {write_file, file, CONTEXT_IDLE_NS};
    enum exit_code code = context_stream(context, call, &sink, &reply, &err);
    if (code == EXIT_DONE) {
        code = finish_file(context, file, part, path);
    } else {
        fclose(file);
        context_explain(context, &reply, &err);
    }
    if (code != EXIT_DONE && beside)
        unlink(part);
    return code;
}

enum exit_code call_to_file(struct context *context, const struct call *call, const char *path)
{
    OWN(str) char *part = NULL;
    struct stat at;
    if (context->print_request) {
        OWN_REPLY struct reply reply = {.printed = false};
        return context_call(context, call, &reply);
    }
    if (stat(path, &at) == 0 && !S_ISREG(at.st_mode))
        return receive(context, call, path, path);
    if (asprintf(&part, "%s.part", path) < 0) {
        context_error(context, "out of memory");
        return EXIT_UNREACHABLE;
    }
    return receive(context, call, part, path);
}

static enum exit_code make_call(struct context *context, struct call *call,
                                const struct arguments *arguments)
{
    const char *out = arguments_get(arguments, OPTION_OUT);
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    if (call_check(call, &err) != ERR_OK)
        return context_fail(context, &err);
    if (out != NULL)
        return call_to_file(context, call, out);
    enum exit_code code = context_call(context, call, &reply);
    if (code != EXIT_DONE || reply.printed || reply.answer.body_len == 0)
        return code;
    return print_body(context, &reply, &err) == ERR_OK ? EXIT_DONE : context_fail(context, &err);
}

enum exit_code cmd_api(struct context *context, const struct arguments *arguments)
{
    const struct operation *operation = NULL;
    struct err err = ERR_INIT;
    struct pairs pairs = {.count = 0};
    OWN(str) char *body = NULL;
    struct call call;
    if (arguments->word_count == 0)
        return list_operations(context);
    if (find_operation(arguments->words[0], &operation, &err) != ERR_OK)
        return context_fail(context, &err);
    call_init(&call, operation);
    enum err_code code = pairs_add(&pairs, &call, arguments, &err);
    call.content_type = arguments_get(arguments, OPTION_CONTENT_TYPE);
    call.accept = arguments_get(arguments, OPTION_ACCEPT);
    const char *file = arguments_get(arguments, OPTION_FILE);
    if (code == ERR_OK && file != NULL && strcmp(file, "-") == 0) {
        code = input_read(context->in, &body, &call.body_len, &err);
        call.body = body;
    } else {
        call.body_path = file;
    }
    enum exit_code exit_code =
        code == ERR_OK ? make_call(context, &call, arguments) : context_fail(context, &err);
    pairs_release(&pairs);
    return exit_code;
}
