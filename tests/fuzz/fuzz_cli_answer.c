/*
 * tests/fuzz/fuzz_cli_answer.c - stellarctl before a hostile server: whatever it answers, the
 * command ends, and nothing reaches the terminal that a reader could not see.
 *
 * An input's first byte chooses the command line, the rest are the answers, separated by a byte
 * 0x1e: three digits of the status, then the body. After the last one the server is away.
 */
#include <stdio.h>

#include "base/text.h"
#include "cli/command.h"
#include "tests/fuzz/fuzz.h"

#define WORDS_MAX 10
#define SEPARATOR 0x1e

/* None that waits between two looks. */
static const char *const lines[][WORDS_MAX] = {
    {"get", "nodes"},
    {"get", "nodes", "-o", "csv"},
    {"get", "nodes", "-o", "name"},
    {"get", "nodes", "-o", "jsonl"},
    {"get", "node", "n1"},
    {"get", "node", "n1", "-o", "json"},
    {"get", "policies", "--tenant", "a"},
    {"get", "policies"},
    {"get", "placements"},
    {"get", "placements", "--tenant", "a", "-o", "csv"},
    {"get", "findings"},
    {"get", "switches"},
    {"get", "events", "--limit", "5"},
    {"get", "fabric"},
    {"get", "tokens"},
    {"get", "users"},
    {"rollout", "list"},
    {"rollout", "show", "r-1"},
    {"rollout", "nodes", "r-1"},
    {"rollout", "pause", "r-1"},
    {"rollout", "start", "--all", "--dry-run"},
    {"diff", "policy", "a", "--from", "1", "--to", "2"},
    {"rollback", "policy", "a", "--to", "1"},
    {"delete", "node", "n1"},
    {"audit", "verify"},
    {"backup", "list"},
    {"tokens", "create", "--role", "auditor"},
    {"node", "join-token", "n1"},
    {"whoami"},
    {"export"},
    {"api", "nodes_list"},
    {"version"},
};

static struct {
    const char *at, *end; /* of the answers that are left */
    size_t asked;
} script;

/* A part of at least one byte, which is not copied; false = there is none left. */
static bool next_answer(const char **out, size_t *out_len)
{
    if (script.at >= script.end)
        return false;
    const char *stop = memchr(script.at, SEPARATOR, (size_t)(script.end - script.at));
    *out = script.at;
    *out_len = (size_t)((stop != NULL ? stop : script.end) - script.at);
    script.at = stop != NULL ? stop + 1 : script.end;
    return true;
}

static char *copy_of(const char *data, size_t len)
{
    char *copy = malloc(len + 1);
    must(copy != NULL);
    memcpy(copy, data, len);
    copy[len] = '\0';
    return copy;
}

static long status_of(const char *text, size_t len)
{
    long status = 0;
    for (size_t i = 0; i < 3 && i < len && text[i] >= '0' && text[i] <= '9'; i++)
        status = 10 * status + (text[i] - '0');
    return status >= 200 && status <= 599 ? status : 200;
}

static enum err_code hostile(const struct http_exchange *exchange, struct http_answer *out,
                             struct err *err)
{
    const char *text;
    size_t len;
    must(strncmp(exchange->request.url, "https://x/v1", 12) == 0);
    script.asked++;
    if (!next_answer(&text, &len))
        return err_set(err, ERR_UNAVAILABLE, "no answer");
    long status = status_of(text, len);
    size_t skip = len < 3 ? len : 3;
    text += skip;
    len -= skip;
    /* The first line of the body is a header too. */
    size_t head = strcspn(text, "\n");
    char headers[512];
    snprintf(headers, sizeof(headers),
             "HTTP/1.1 %ld x\r\nContent-Type: application/%sjson\r\nETag: %.*s\r\n\r\n", status,
             status >= 400 ? "problem+" : "", (int)(head < len && head < 300 ? head : 0), text);
    bool sunk = exchange->sink != NULL && status < 300;
    if (sunk)
        for (size_t at = 0; at < len; at += 5)
            if (!exchange->sink(exchange->sink_arg, text + at, len - at < 5 ? len - at : 5))
                break;
    *out = (struct http_answer){status, copy_of(text, sunk ? 0 : len), sunk ? 0 : len,
                                copy_of(headers, strlen(headers))};
    return ERR_OK;
}

static void check_seen(const char *text, size_t len)
{
    for (size_t i = 0, n; i < len; i += n) {
        uint32_t c = 0;
        must((n = utf8_decode(text + i, len - i, &c)) > 0);
        must(c == '\n' || c == '\r' || c == '\t' || !text_is_hidden(c));
    }
}

static void run_line(const char *const words[WORDS_MAX])
{
    char *argv[WORDS_MAX + 2] = {(char *)(uintptr_t) "stellarctl"}, nothing[] = "\n";
    char *out_text = NULL, *err_text = NULL;
    size_t out_len, err_len;
    int argc = 1;
    struct context context;
    for (size_t i = 0; i < WORDS_MAX && words[i] != NULL; i++)
        argv[argc++] = (char *)(uintptr_t)words[i];
    FILE *in = fmemopen(nothing, 1, "r");
    FILE *out = open_memstream(&out_text, &out_len), *err = open_memstream(&err_text, &err_len);
    must(in != NULL && out != NULL && err != NULL);
    context_init(&context, in, out, err);
    context.exchange = hostile;
    context.width = 80; /* as if all this were shown */
    enum exit_code code = command_main(argc, argv, &context);
    context_release(&context);
    fclose(in);
    fclose(out);
    fclose(err);
    must(code == EXIT_DONE || err_len > 0);
    must(script.asked > 0 || strcmp(words[0], "version") == 0); /* else it proves nothing */
    check_seen(out_text, out_len);
    check_seen(err_text, err_len);
    free(out_text);
    free(err_text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    setenv("STELLAR_SERVER", "https://x", 1);
    setenv("STELLAR_TOKEN", "st_0", 1);
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    char *text = copy_of((const char *)data + 1, size - 1);
    script.at = text;
    script.end = text + size - 1;
    script.asked = 0;
    run_line(lines[data[0] % (sizeof(lines) / sizeof(lines[0]))]);
    free(text);
    return 0;
}
