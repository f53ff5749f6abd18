/*
 * cli/arguments.c - see arguments.h.
 */
#include "cli/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define TEN_YEARS_S INT64_C(315360000)
#define QUOTED_MAX  100

const struct option_row option_rows[OPTION_COUNT] = {
    [OPTION_SERVER] = {"server", 's', "URL", "the server [http://127.0.0.1:8440]", false,
                       COMPLETES_NOTHING},
    [OPTION_TOKEN_FILE] = {"token-file", 0, "FILE", "read the token from FILE; - is standard input",
                           false, COMPLETES_FILES},
    [OPTION_CA_FILE] = {"ca-file", 0, "FILE", "trust the authority in FILE (PEM) and no other",
                        false, COMPLETES_FILES},
    [OPTION_PROFILE] = {"profile", 'p', "NAME", "use this profile, not the current one", false,
                        COMPLETES_PROFILES},
    [OPTION_OUTPUT] = {"output", 'o', "FORMAT", "table, json, jsonl, csv or name", false,
                       COMPLETES_OUTPUTS},
    [OPTION_NO_HEADERS] = {"no-headers", 0, NULL, "no line of titles over tables and CSV", false,
                           COMPLETES_NOTHING},
    [OPTION_TIMEOUT] = {"timeout", 0, "TIME", "give up after TIME: 30, 30s, 5m, 1h [100s]", false,
                        COMPLETES_NOTHING},
    [OPTION_PRINT_REQUEST] = {"print-request", 0, NULL, "print what would be sent; send nothing",
                              false, COMPLETES_NOTHING},
    [OPTION_HELP] = {"help", 'h', NULL, "print help and exit", false, COMPLETES_NOTHING},
    [OPTION_FILE] = {"file", 'f', "FILE", "read FILE; - is standard input", true, COMPLETES_FILES},
    [OPTION_TENANT] = {"tenant", 't', "TENANT", "the tenant it belongs to", false,
                       COMPLETES_NOTHING},
    [OPTION_NODE] = {"node", 'n', "NODE", "the node it belongs to", true, COMPLETES_NOTHING},
    [OPTION_SELECTOR] = {"selector", 'l', "LABELS", "only with these labels: k=v,k!=v,k,!k", false,
                         COMPLETES_NOTHING},
    [OPTION_WATCH] = {"watch", 'w', NULL, "go on and print what changes, until Ctrl-C", false,
                      COMPLETES_NOTHING},
    [OPTION_INTERVAL] = {"interval", 0, "TIME", "look again each TIME when watching [2s]", false,
                         COMPLETES_NOTHING},
    [OPTION_LIMIT] = {"limit", 0, "N", "at most N items", false, COMPLETES_NOTHING},
    [OPTION_AFTER] = {"after", 0, "ID", "only events after this one", false, COMPLETES_NOTHING},
    [OPTION_DRY_RUN] = {"dry-run", 0, NULL, "show what would happen; store nothing", false,
                        COMPLETES_NOTHING},
    [OPTION_MESSAGE] = {"message", 'm', "TEXT", "kept with the revision", false, COMPLETES_NOTHING},
    [OPTION_OVERRIDE] = {"override", 0, "RULE", "override this rule; needs --reason and an admin",
                         false, COMPLETES_NOTHING},
    [OPTION_REASON] = {"reason", 0, "TEXT", "kept in the audit log", false, COMPLETES_NOTHING},
    [OPTION_IF_MATCH] = {"if-match", 0, "ETAG", "only while it still has this ETag", false,
                         COMPLETES_NOTHING},
    [OPTION_FROM] = {"from", 0, "N", "from this revision", false, COMPLETES_NOTHING},
    [OPTION_TO] = {"to", 0, "N", "to this revision", false, COMPLETES_NOTHING},
    [OPTION_PARAM] = {"param", 0, "NAME=VALUE", "a part of the path", true, COMPLETES_NOTHING},
    [OPTION_QUERY] = {"query", 0, "NAME=VALUE", "a query parameter", true, COMPLETES_NOTHING},
    [OPTION_HEADER] = {"header", 0, "NAME=VALUE", "a header of the request", true,
                       COMPLETES_NOTHING},
    [OPTION_CONTENT_TYPE] = {"content-type", 0, "TYPE", "of the body", false, COMPLETES_NOTHING},
    [OPTION_ACCEPT] = {"accept", 0, "TYPE", "wanted of the answer", false, COMPLETES_NOTHING},
    [OPTION_OUT] = {"out", 0, "FILE", "write the answer to FILE (mode 0600)", false,
                    COMPLETES_FILES},
    [OPTION_ROLE] = {"role", 0, "ROLE", "admin, operator, auditor, tenant-admin or tenant-user",
                     false, COMPLETES_ROLES},
    [OPTION_SCOPE] = {"scope", 0, "SCOPE", "what it may be used for: read, write", true,
                      COMPLETES_NOTHING},
    [OPTION_SOURCE] = {"source", 0, "PREFIX", "usable only from there: 10.0.0.0/8", true,
                       COMPLETES_NOTHING},
    [OPTION_LIFETIME] = {"lifetime", 0, "TIME", "ends after TIME: 12h, 30d", false,
                         COMPLETES_NOTHING},
    [OPTION_DESCRIPTION] = {"description", 0, "TEXT", "what it is for", false, COMPLETES_NOTHING},
    [OPTION_USER] = {"user", 'u', "NAME", "the user to log in as", false, COMPLETES_NOTHING},
    [OPTION_PASSWORD_FILE] = {"password-file", 0, "FILE",
                              "read the password from FILE; - is standard input", false,
                              COMPLETES_FILES},
    [OPTION_MODE] = {"mode", 0, "MODE", "merge or replace", false, COMPLETES_NOTHING},
    [OPTION_ANCHOR] = {"anchor", 0, "ID:HASH", "check that this row is still there", false,
                       COMPLETES_NOTHING},
    [OPTION_ALL] = {"all", 0, NULL, "all nodes", false, COMPLETES_NOTHING},
    [OPTION_LANGUAGE] = {"lang", 0, "LANGUAGE", "of an HTML page: en or zh [en]", false,
                         COMPLETES_NOTHING},
    [OPTION_WINDOW] = {"window", 0, "TIME", "how far to look back, in whole minutes [10m]", false,
                       COMPLETES_NOTHING},
    [OPTION_PSID] = {"psid", 0, "PSID,PSID", "boards that an image is for [any]", false,
                     COMPLETES_NOTHING},
};

static enum err_code unknown(const char *name, size_t len, struct err *err)
{
    const char *names[OPTION_COUNT];
    char quoted[QUOTED_MAX], word[QUOTED_MAX];
    for (size_t i = 0; i < OPTION_COUNT; i++)
        names[i] = option_rows[i].name;
    text_quote(name, len, quoted, sizeof(quoted));
    snprintf(word, sizeof(word), "%.*s", (int)(len < sizeof(word) ? len : 0), name);
    const char *close = text_closest(word, names, OPTION_COUNT);
    return err_set(err, ERR_INVALID, "there is no option --%s%s%s%s", quoted,
                   close != NULL ? "; did you mean --" : "", close != NULL ? close : "",
                   close != NULL ? "?" : "");
}

static enum err_code add(struct arguments *out, enum option option, const char *value,
                         struct err *err)
{
    if (out->given_count == ARGUMENTS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d options were given", ARGUMENTS_MAX);
    if (!option_rows[option].repeats && arguments_has(out, option))
        return err_set(err, ERR_INVALID, "--%s was given twice", option_rows[option].name);
    out->given[out->given_count].option = option;
    out->given[out->given_count++].value = value != NULL ? value : "";
    return ERR_OK;
}

/* One option; *at is its place in argv and moves over a value that stands on its own. */
struct reading {
    int argc;
    char **argv;
    int at;
};

static enum err_code take(struct reading *reading, enum option option, const char *attached,
                          struct arguments *out, struct err *err)
{
    const struct option_row *row = &option_rows[option];
    if (row->argument == NULL && attached != NULL)
        return err_set(err, ERR_INVALID, "--%s takes no value", row->name);
    if (row->argument != NULL && attached == NULL) {
        if (reading->at + 1 >= reading->argc)
            return err_set(err, ERR_INVALID, "--%s needs a value: %s", row->name, row->argument);
        attached = reading->argv[++reading->at];
    }
    return add(out, option, attached, err);
}

static enum err_code take_long(struct reading *reading, struct arguments *out, struct err *err)
{
    const char *name = reading->argv[reading->at] + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] == '=' ? name + len + 1 : NULL;
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (strlen(option_rows[i].name) == len && strncmp(option_rows[i].name, name, len) == 0)
            return take(reading, (enum option)i, value, out, err);
    return unknown(name, len, err);
}

/* "-w", "-ojson", "-o json", "-hw". */
static enum err_code take_short(struct reading *reading, struct arguments *out, struct err *err)
{
    for (const char *p = reading->argv[reading->at] + 1; *p != '\0'; p++) {
        size_t i = 0;
        while (i < OPTION_COUNT && option_rows[i].letter != *p)
            i++;
        if (i == OPTION_COUNT) {
            char quoted[16];
            text_quote(p, 1, quoted, sizeof(quoted));
            return err_set(err, ERR_INVALID, "there is no option -%s", quoted);
        }
        bool value = option_rows[i].argument != NULL;
        const char *attached = value && p[1] != '\0' ? p + 1 : NULL;
        enum err_code code = take(reading, (enum option)i, attached, out, err);
        if (code != ERR_OK || value)
            return code;
    }
    return ERR_OK;
}

enum err_code arguments_parse(int argc, char **argv, struct arguments *out, struct err *err)
{
    struct reading reading = {argc, argv, 0};
    bool ended = false;
    memset(out, 0, sizeof(*out));
    for (; reading.at < argc; reading.at++) {
        const char *word = argv[reading.at];
        enum err_code code = ERR_OK;
        if (!ended && strcmp(word, "--") == 0) {
            ended = true;
        } else if (!ended && word[0] == '-' && word[1] == '-') {
            code = take_long(&reading, out, err);
        } else if (!ended && word[0] == '-' && word[1] != '\0') {
            code = take_short(&reading, out, err);
        } else {
            if (out->word_count == ARGUMENTS_MAX)
                return err_set(err, ERR_LIMIT, "more than %d words were given", ARGUMENTS_MAX);
            out->words[out->word_count++] = word;
        }
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

bool arguments_has(const struct arguments *arguments, enum option option)
{
    return arguments_get(arguments, option) != NULL;
}

const char *arguments_get(const struct arguments *arguments, enum option option)
{
    for (size_t i = arguments->given_count; i > 0; i--)
        if (arguments->given[i - 1].option == option)
            return arguments->given[i - 1].value;
    return NULL;
}

enum err_code arguments_seconds(const struct arguments *arguments, enum option option,
                                int64_t *out_s, struct err *err)
{
    static const struct {
        const char *unit;
        int64_t seconds;
    } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    const char *text = arguments_get(arguments, option);
    if (text == NULL)
        return ERR_OK;
    char *end = NULL;
    errno = 0;
    long long number = text[0] >= '0' && text[0] <= '9' ? strtoll(text, &end, 10) : 0;
    for (size_t i = 0; end != NULL && errno == 0 && i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].unit) != 0 || number < 1 ||
            number > TEN_YEARS_S / units[i].seconds)
            continue;
        *out_s = number * units[i].seconds;
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID, "--%s '%s': a time such as 30s, 10m, 12h or 7d is wanted",
                   option_rows[option].name, text);
}

enum err_code arguments_number(const struct arguments *arguments, enum option option,
                               const int64_t range[2], int64_t *out, struct err *err)
{
    const char *text = arguments_get(arguments, option);
    if (text == NULL)
        return ERR_OK;
    char *end = NULL;
    errno = 0;
    long long number = text[0] >= '0' && text[0] <= '9' ? strtoll(text, &end, 10) : 0;
    if (end == NULL || *end != '\0' || errno != 0 || number < range[0] || number > range[1])
        return err_set(err, ERR_INVALID, "--%s '%s': a whole number from %lld to %lld is wanted",
                       option_rows[option].name, text, (long long)range[0], (long long)range[1]);
    *out = number;
    return ERR_OK;
}
