/*
 * cli/main.c - from a command line to a command: see command.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/profile.h"

static enum err_code read_output(struct context *context, const struct arguments *arguments,
                                 struct err *err)
{
    const char *name = arguments_get(arguments, OPTION_OUTPUT);
    for (size_t i = 0; i < OUTPUT_COUNT && name != NULL; i++)
        if (strcmp(output_names[i], name) == 0) {
            context->output = (enum output)i;
            name = NULL;
        }
    if (name != NULL)
        return err_set(err, ERR_INVALID, "--output '%s': table, json, jsonl, csv or name is wanted",
                       name);
    return ERR_OK;
}

static enum err_code read_globals(struct context *context, const struct command *command,
                                  const struct arguments *arguments, struct err *err)
{
    int64_t timeout_s = 0;
    enum err_code code = read_output(context, arguments, err);
    if (code == ERR_OK)
        code = arguments_seconds(arguments, OPTION_TIMEOUT, &timeout_s, err);
    if (timeout_s > 0)
        context->timeout_ns = timeout_s * NS_PER_S;
    context->headings = !arguments_has(arguments, OPTION_NO_HEADERS);
    context->print_request = arguments_has(arguments, OPTION_PRINT_REQUEST);
    if (code == ERR_OK && !command->offline)
        code = profile_resolve(context, arguments, err);
    return code;
}

static enum err_code check_words(const struct command *command, const struct arguments *arguments,
                                 struct err *err)
{
    if (arguments->word_count < command->words_min)
        return err_set(err, ERR_INVALID, "%s needs %s", command->name, command->words);
    if (arguments->word_count > command->words_max)
        return err_set(err, ERR_INVALID, "%s: '%s' is one word too many", command->name,
                       arguments->words[command->words_max]);
    for (size_t i = 0; i < arguments->given_count; i++)
        if (!command_takes(command, arguments->given[i].option))
            return err_set(err, ERR_INVALID, "%s takes no --%s", command->name,
                           option_rows[arguments->given[i].option].name);
    if (arguments_has(arguments, OPTION_OVERRIDE) && !arguments_has(arguments, OPTION_REASON))
        return err_set(err, ERR_INVALID, "--override needs --reason TEXT: it is kept in the audit");
    return ERR_OK;
}

/* "node", or "node" and a word that is none of its commands. */
static enum exit_code unknown_in_group(struct context *context, const struct arguments *arguments)
{
    const char *group = arguments->words[0];
    if (arguments->word_count == 1 && arguments_has(arguments, OPTION_HELP)) {
        help_print_group(context->out, group);
        return EXIT_DONE;
    }
    if (arguments->word_count == 1)
        context_error(context, "%s what? There are:", group);
    else
        context_error(context, "there is no command '%s %s'; there are:", group,
                      arguments->words[1]);
    help_print_group(context->err, group);
    return EXIT_USAGE;
}

static enum exit_code unknown_command(struct context *context, const struct arguments *arguments)
{
    const char *names[128], *word = arguments->words[0];
    size_t count = 0;
    if (help_has_group(word))
        return unknown_in_group(context, arguments);
    for (size_t i = 0; i < command_count && count < 128; i++)
        names[count++] = commands[i].name;
    const char *close = text_closest(word, names, count);
    context_error(context, "there is no command '%s'%s%s%s", word,
                  close != NULL ? "; did you mean " : "", close != NULL ? close : "",
                  close != NULL ? "?" : "; see stellarctl help");
    return EXIT_USAGE;
}

static enum exit_code run(struct context *context, const struct command *command,
                          struct arguments *arguments)
{
    struct err err = ERR_INIT;
    if (arguments_has(arguments, OPTION_HELP)) {
        help_print_command(context->out, command);
        return EXIT_DONE;
    }
    if (check_words(command, arguments, &err) != ERR_OK ||
        read_globals(context, command, arguments, &err) != ERR_OK) {
        context_fail(context, &err);
        return EXIT_USAGE;
    }
    return command->run(context, arguments);
}

enum exit_code command_main(int argc, char **argv, struct context *context)
{
    struct arguments arguments;
    struct err err = ERR_INIT;
    size_t used = 0;
    if (argc == 2 && strcmp(argv[1], "--version") == 0) /* as other programs have it */
        return cmd_version(context, NULL);
    if (arguments_parse(argc - 1, argv + 1, &arguments, &err) != ERR_OK) {
        context_fail(context, &err);
        return EXIT_USAGE;
    }
    if (arguments.word_count == 0) {
        bool asked = arguments_has(&arguments, OPTION_HELP);
        help_print(asked ? context->out : context->err);
        return asked ? EXIT_DONE : EXIT_USAGE;
    }
    const struct command *command = command_find(arguments.words, arguments.word_count, &used);
    if (command == NULL)
        return unknown_command(context, &arguments);
    arguments.word_count -= used;
    memmove(arguments.words, arguments.words + used,
            arguments.word_count * sizeof(arguments.words[0]));
    enum exit_code code = run(context, command, &arguments);
    /* A full disk or a closed pipe must not look like success. */
    if (fflush(context->out) != 0 && code == EXIT_DONE) {
        context_error(context, "the output was not written whole");
        code = EXIT_USAGE;
    }
    return code;
}
