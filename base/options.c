/*
 * base/options.c - see options.h.
 */
#include "base/options.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

#define CONFIG_NAME "config"
#define HELP_COLUMN 26 /* where the texts of --help begin */
#define NUMBER_SIZE 24
#define OPTION_BASE 256 /* getopt's values of the rows, above every letter */
#define NAME_SHOWN  64

static const struct option_row *row_of(const struct options *options, const char *name)
{
    for (size_t i = 0; i < options->count; i++)
        if (strcmp(options->rows[i].name, name) == 0)
            return &options->rows[i];
    return NULL;
}

enum err_code option_log_level(void *target, const char *value, struct err *err)
{
    enum log_level level;
    (void)target;
    if (!log_level_from_name(value, &level))
        return err_set(err, ERR_INVALID, "'%s' is none of error, warning, info and debug", value);
    log_set_level(level);
    return ERR_OK;
}

enum err_code option_log_format(void *target, const char *value, struct err *err)
{
    enum log_format format;
    (void)target;
    if (!log_format_from_name(value, &format))
        return err_set(err, ERR_INVALID, "'%s' is none of text, json and journal", value);
    log_set_format(format);
    return ERR_OK;
}

static enum err_code set(const struct option_row *row, void *target, const char *value,
                         struct err *err)
{
    if (row->flags & OPTION_TEXT)
        *(const char **)((char *)target + row->at) = value;
    else if (row->set != NULL)
        return row->set(target, value, err);
    return ERR_OK; /* the row "config" was looked at before */
}

/* The file ------------------------------------------------------------------------------------ */

static enum err_code unknown_member(const struct options *options, const char *path,
                                    const char *name, struct err *err)
{
    const char *names[OPTIONS_MAX];
    char shown[NAME_SHOWN];
    size_t count = 0;
    for (size_t i = 0; i < options->count; i++)
        if (!(options->rows[i].flags & OPTION_LINE_ONLY))
            names[count++] = options->rows[i].name;
    const char *close = text_closest(name, names, count);
    text_quote(name, strlen(name), shown, sizeof(shown));
    if (close != NULL)
        return err_set(err, ERR_INVALID, "%s: there is no option \"%s\"; is \"%s\" meant?", path,
                       shown, close);
    return err_set(err, ERR_INVALID, "%s: there is no option \"%s\" for the file", path, shown);
}

/* A number becomes text in place, so that the document owns every value. */
static enum err_code number_to_text(json_t *document, const char *name, json_t **value,
                                    struct err *err)
{
    char text[NUMBER_SIZE];
    snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(*value));
    json_t *as_text = json_string(text);
    if (json_object_set_new(document, name, as_text) != 0)
        return err_nomem(err);
    *value = as_text;
    return ERR_OK;
}

static enum err_code set_from_file(const struct option_row *row, const json_t *value, void *target,
                                   struct err *err)
{
    if (row->arg == NULL && json_is_boolean(value))
        return json_is_true(value) ? set(row, target, NULL, err) : ERR_OK;
    if (row->arg != NULL && json_is_string(value))
        return set(row, target, json_string_value(value), err);
    return err_set(err, ERR_INVALID, "%s is wanted",
                   row->arg == NULL ? "true or false" : "a text or a whole number");
}

static enum err_code read_member(const struct option_row *row, json_t *document, const char *path,
                                 void *target, struct err *err)
{
    json_t *value = json_object_get(document, row->name), *item;
    size_t i;
    enum err_code code = ERR_OK;
    if (row->arg != NULL && json_is_integer(value))
        code = number_to_text(document, row->name, &value, err);
    if ((row->flags & OPTION_REPEATED) && json_is_array(value)) {
        for (i = 0; code == ERR_OK && (item = json_array_get(value, i)) != NULL; i++)
            code = set_from_file(row, item, target, err);
    } else if (code == ERR_OK) {
        code = set_from_file(row, value, target, err);
    }
    if (code == ERR_INVALID)
        return err_context(err, "%s: \"%s\"", path, row->name);
    return code;
}

static enum err_code read_file(struct options *options, const char *path, void *target,
                               struct err *err)
{
    OWN(str) char *text = NULL;
    size_t len;
    const char *name;
    void *next;
    json_t *value;
    enum err_code code = file_read(path, OPTIONS_FILE_MAX, &text, &len, err);
    if (code != ERR_OK)
        return code;
    code = json_parse_limit(text, len, OPTIONS_FILE_MAX, false, &options->document, err);
    if (code != ERR_OK)
        return err_context(err, "%s", path);
    if (!json_is_object(options->document))
        return err_set(err, ERR_INVALID, "%s: a JSON object of options is wanted", path);
    json_object_foreach_safe(options->document, next, name, value)
    {
        const struct option_row *row = row_of(options, name);
        if (row == NULL || (row->flags & OPTION_LINE_ONLY))
            return unknown_member(options, path, name, err);
        code = read_member(row, options->document, path, target, err);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

/* The line ------------------------------------------------------------------------------------ */

struct line {
    struct option longs[OPTIONS_MAX + 1];
    int argc;
    char **argv;
};

static void line_init(struct line *line, const struct options *options, int argc, char **argv)
{
    *line = (struct line){.argc = argc, .argv = argv};
    for (size_t i = 0; i < options->count && i < OPTIONS_MAX; i++)
        line->longs[i] = (struct option){
            .name = options->rows[i].name,
            .has_arg = options->rows[i].arg != NULL ? required_argument : no_argument,
            .val = OPTION_BASE + (int)i,
        };
    optind = 0; /* getopt(3): begin anew, also the second time */
    opterr = 0;
}

/* The row of the next option; NULL = at the end, or *out_bad. */
static const struct option_row *line_next(struct line *line, const struct options *options,
                                          bool *out_bad)
{
    int at = optind == 0 ? 1 : optind;
    int id = getopt_long(line->argc, line->argv, "+:", line->longs, NULL);
    *out_bad = id == '?' || id == ':';
    if (*out_bad)
        optind = at; /* for the message */
    return id < OPTION_BASE ? NULL : &options->rows[id - OPTION_BASE];
}

static enum err_code bad_option(const struct line *line, const struct options *options,
                                struct err *err)
{
    const char *word = line->argv[optind];
    const char *names[OPTIONS_MAX];
    char shown[NAME_SHOWN];
    size_t len = strcspn(word, "=");
    text_quote(word, len, shown, sizeof(shown));
    const struct option_row *row = len > 2 && word[len] == '\0' ? row_of(options, word + 2) : NULL;
    if (row != NULL && row->arg != NULL)
        return err_set(err, ERR_INVALID, "%s needs %s", shown, row->arg);
    for (size_t i = 0; i < options->count; i++)
        names[i] = options->rows[i].name;
    const char *close = len > 2 ? text_closest(shown + 2, names, options->count) : NULL;
    if (close != NULL && strcmp(close, shown + 2) == 0)
        return err_set(err, ERR_INVALID, "%s takes no value", shown);
    if (close != NULL)
        return err_set(err, ERR_INVALID, "there is no option %s; is --%s meant?", shown, close);
    return err_set(err, ERR_INVALID, "there is no option %s; --help lists them", shown);
}

/* The value of --config on the line, NULL = not given. Mistakes are left to the second pass. */
static const char *config_of(const struct options *options, int argc, char **argv)
{
    struct line line;
    const struct option_row *row;
    const char *path = NULL;
    bool bad;
    line_init(&line, options, argc, argv);
    while ((row = line_next(&line, options, &bad)) != NULL)
        if (strcmp(row->name, CONFIG_NAME) == 0)
            path = optarg;
    return path;
}

static enum err_code read_line(const struct options *options, int argc, char **argv, void *target,
                               struct err *err)
{
    struct line line;
    const struct option_row *row;
    bool bad = false;
    line_init(&line, options, argc, argv);
    while ((row = line_next(&line, options, &bad)) != NULL) {
        enum err_code code = set(row, target, optarg, err);
        if (code == ERR_INVALID)
            return err_context(err, "--%s", row->name);
        if (code != ERR_OK)
            return code;
    }
    return bad ? bad_option(&line, options, err) : ERR_OK;
}

enum err_code options_read(struct options *options, int argc, char **argv, void *target,
                           int *out_rest, struct err *err)
{
    enum err_code code = ERR_OK;
    const char *given = config_of(options, argc, argv);
    const char *path = given != NULL ? given : options->file;
    if (given != NULL || (path != NULL && access(path, F_OK) == 0))
        code = read_file(options, path, target, err);
    if (code == ERR_OK)
        code = read_line(options, argc, argv, target, err);
    if (code != ERR_OK)
        return code;
    if (out_rest == NULL && optind < argc) {
        char shown[NAME_SHOWN];
        text_quote(argv[optind], strlen(argv[optind]), shown, sizeof(shown));
        return err_set(err, ERR_INVALID, "'%s' is no option; --help lists them", shown);
    }
    if (out_rest != NULL)
        *out_rest = optind;
    return ERR_OK;
}

void options_release(struct options *options)
{
    json_decref(options->document);
    options->document = NULL;
}

void options_help(const struct option_row *rows, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        int n = fprintf(out, "  --%s%s%s", rows[i].name, rows[i].arg == NULL ? "" : " ",
                        rows[i].arg == NULL ? "" : rows[i].arg);
        if (n > HELP_COLUMN - 2)
            n = fprintf(out, "\n") - 1;
        const char *text = rows[i].help;
        for (size_t len; *text != '\0'; text += len + (text[len] == '\n')) {
            len = strcspn(text, "\n");
            fprintf(out, "%*s%.*s\n", HELP_COLUMN - n, "", (int)len, text);
            n = 0;
        }
    }
}
