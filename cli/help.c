/*
 * cli/help.c - help, made of the tables: see command.h.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/kind.h"

#define LEFT 30 /* columns before the text of an option or a command */

static void print_option(FILE *out, enum option option)
{
    const struct option_row *row = &option_rows[option];
    char left[80], letter[8] = "    ";
    if (row->letter != 0)
        snprintf(letter, sizeof(letter), "-%c, ", row->letter);
    snprintf(left, sizeof(left), "%s--%s%s%s", letter, row->name, row->argument ? " " : "",
             row->argument ? row->argument : "");
    fprintf(out, "  %-*s  %s%s\n", LEFT, left, row->text, row->repeats ? "; may be repeated" : "");
}

static void print_globals(FILE *out)
{
    fputs("\nOptions of every command:\n", out);
    for (int i = 0; i < OPTION_GLOBAL_COUNT; i++)
        print_option(out, (enum option)i);
}

static void print_summary(FILE *out, const struct command *command)
{
    char left[80];
    snprintf(left, sizeof(left), "%s%s%s", command->name, command->words[0] ? " " : "",
             command->words);
    fprintf(out, "  %-*s  %s\n", LEFT, left, command->summary);
}

static bool is_in_group(const struct command *command, const char *group)
{
    size_t len = strlen(group);
    return strncmp(command->name, group, len) == 0 && command->name[len] == ' ';
}

bool help_has_group(const char *word)
{
    for (size_t i = 0; i < command_count; i++)
        if (is_in_group(&commands[i], word))
            return true;
    return false;
}

void help_print_group(FILE *out, const char *group)
{
    for (size_t i = 0; i < command_count; i++)
        if (is_in_group(&commands[i], group))
            print_summary(out, &commands[i]);
    fputs("stellarctl help COMMAND says more.\n", out);
}

void help_print(FILE *out)
{
    fputs("Usage: stellarctl COMMAND [options]\n\nCommands:\n", out);
    for (size_t i = 0; i < command_count; i++)
        print_summary(out, &commands[i]);
    print_globals(out);
    fputs("\nEnvironment: STELLAR_SERVER, STELLAR_TOKEN, STELLAR_TOKEN_FILE, STELLAR_CA,\n"
          "STELLAR_PROFILE, NO_COLOR, XDG_CONFIG_HOME.\n"
          "Exit status: 0 done, 1 refused, 2 wrong usage, 3 not found, 4 not allowed, 5 conflict,\n"
          "6 no answer or not now, 7 some of several failed.\n"
          "stellarctl help COMMAND says more.\n",
          out);
}

void help_print_command(FILE *out, const struct command *command)
{
    fprintf(out, "Usage: stellarctl %s%s%s [options]\n\n%s\n", command->name,
            command->words[0] ? " " : "", command->words, command->summary);
    if (command->more != NULL)
        fprintf(out, "\n%s\n", command->more);
    if (command->option_count > 0)
        fputs("\nOptions:\n", out);
    for (size_t i = 0; i < command->option_count; i++)
        print_option(out, command->options[i]);
    print_globals(out);
}

static const char *verbs(const struct kind *kind, char out[64])
{
    snprintf(out, 64, "%s%s%s%s", kind->list || kind->walk ? "list " : "", kind->get ? "get " : "",
             kind->put ? "apply " : "", kind->remove ? "delete" : "");
    return out;
}

static void print_kinds(FILE *out)
{
    char text[64];
    fputs("Kinds (plural or singular), and what can be done with them:\n", out);
    for (size_t i = 0; i < kind_count; i++)
        fprintf(out, "  %-14s %-14s %s\n", kinds[i].name, kinds[i].single, verbs(&kinds[i], text));
}

enum exit_code cmd_help(struct context *context, const struct arguments *arguments)
{
    size_t used = 0;
    if (arguments->word_count == 0) {
        help_print(context->out);
        return EXIT_DONE;
    }
    if (strcmp(arguments->words[0], "kinds") == 0) {
        print_kinds(context->out);
        return EXIT_DONE;
    }
    const struct command *command = command_find(arguments->words, arguments->word_count, &used);
    if (command != NULL && used == arguments->word_count) {
        help_print_command(context->out, command);
        return EXIT_DONE;
    }
    if (arguments->word_count == 1 && help_has_group(arguments->words[0])) {
        help_print_group(context->out, arguments->words[0]);
        return EXIT_DONE;
    }
    context_error(context, "there is no command '%s'; see stellarctl help", arguments->words[0]);
    return EXIT_USAGE;
}
