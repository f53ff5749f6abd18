/*
 * cli/completion.c - completions of bash, zsh and fish, made of the tables: see command.h. bash and
 * zsh get one function of the same shape in their two dialects; fish wants rules.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/kind.h"

/* How the two dialects write the same thing. */
struct dialect {
    const char *head, *arm, *words, *files, *tail;
};

static const struct dialect bash = {
    .head = "# bash completion of stellarctl\n"
            "_stellarctl() {\n"
            "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
            "    local at=COMP_CWORD cmd= word i opts= offers=\n"
            "    local list=(\"${COMP_WORDS[@]}\")\n"
            "    COMPREPLY=()\n",
    .arm = "",
    .words = "COMPREPLY=($(compgen -W \"%s\" -- \"$cur\")); return",
    .files = "COMPREPLY=($(compgen -f -- \"$cur\")); return",
    .tail = "    case $cur in\n"
            "    -*) COMPREPLY=($(compgen -W \"$opts\" -- \"$cur\")) ;;\n"
            "    *) COMPREPLY=($(compgen -W \"$offers\" -- \"$cur\")) ;;\n"
            "    esac\n"
            "}\n"
            "complete -F _stellarctl stellarctl\n",
};

static const struct dialect zsh = {
    .head = "#compdef stellarctl\n"
            "_stellarctl() {\n"
            "    local cur=${words[CURRENT]} prev=${words[CURRENT-1]}\n"
            "    local at=CURRENT-1 cmd= word i opts= offers=\n"
            "    local -a list\n"
            "    list=(\"${words[@]:1}\")\n", /* so that both dialects count from 1 */
    .arm = "(",
    .words = "compadd -- %s; return",
    .files = "_files; return",
    .tail = "    case $cur in\n"
            "    (-*) compadd -- ${=opts} ;;\n"
            "    (*) compadd -- ${=offers} ;;\n"
            "    esac\n"
            "}\n"
            "compdef _stellarctl stellarctl 2>/dev/null\n"
            "[ \"$funcstack[1]\" = _stellarctl ] && _stellarctl \"$@\"\n",
};

static void put_spelling(FILE *out, const struct option_row *row, const char *between)
{
    fprintf(out, "--%s", row->name);
    if (row->letter != 0)
        fprintf(out, "%s-%c", between, row->letter);
}

static const char roles[] = "admin operator auditor tenant-admin tenant-user";

static const char *value_words(enum completes completes)
{
    static const char *const words[] = {
        [COMPLETES_OUTPUTS] = "table json jsonl csv name",
        [COMPLETES_ROLES] = roles,
        [COMPLETES_PROFILES] = "$(stellarctl profile list -o name 2>/dev/null)",
    };
    return completes < sizeof(words) / sizeof(words[0]) ? words[completes] : NULL;
}

/* What stands after an option that wants a value. */
static void put_values(FILE *out, const struct dialect *dialect)
{
    fputs("    case $prev in\n", out);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_rows[i];
        const char *words = value_words(row->completes);
        if (row->argument == NULL)
            continue;
        fprintf(out, "    %s", dialect->arm);
        put_spelling(out, row, "|");
        fputs(") ", out);
        if (row->completes == COMPLETES_FILES) {
            fputs(dialect->files, out);
        } else if (words != NULL) {
            const char *mark = strstr(dialect->words, "%s");
            fprintf(out, "%.*s%s%s", (int)(mark - dialect->words), dialect->words, words, mark + 2);
        } else {
            fputs("return", out);
        }
        fputs(" ;;\n", out);
    }
    fputs("    esac\n", out);
}

/* The words before the cursor that are no options: the command. */
static void put_walk(FILE *out, const struct dialect *dialect)
{
    const char *between = "";
    fprintf(out,
            "    for ((i = 1; i < at; i++)); do\n"
            "        word=${list[i]}\n"
            "        case $word in\n"
            "        %s",
            dialect->arm);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (option_rows[i].argument == NULL)
            continue;
        fputs(between, out);
        put_spelling(out, &option_rows[i], "|");
        between = "|";
    }
    fprintf(out,
            ") ((i = i + 1)) ;;\n"
            "        %s-*) ;;\n"
            "        %s*) cmd=\"$cmd${cmd:+ }$word\" ;;\n"
            "        esac\n"
            "    done\n",
            dialect->arm, dialect->arm);
}

static void put_offers(FILE *out, enum command_words offers)
{
    switch (offers) {
    case WORDS_KINDS:
        for (size_t i = 0; i < kind_count; i++)
            fprintf(out, "%s ", kinds[i].name);
        break;
    case WORDS_OPERATIONS:
        for (size_t i = 0; i < operation_count; i++)
            fprintf(out, "%s ", operations[i].id);
        break;
    case WORDS_SHELLS:
        fputs("bash zsh fish", out);
        break;
    case WORDS_COMMANDS:
        for (size_t i = 0; i < command_count; i++)
            if (strchr(commands[i].name, ' ') == NULL)
                fprintf(out, "%s ", commands[i].name);
        fputs("kinds", out);
        break;
    case WORDS_PROFILES:
        fputs("$(stellarctl profile list -o name 2>/dev/null)", out);
        break;
    case WORDS_NONE:
        break;
    }
}

/* The first word of every command once; of a group the second ones. */
static void put_group(FILE *out, const char *group)
{
    size_t len = group != NULL ? strlen(group) : 0;
    const char *last = "";
    for (size_t i = 0; i < command_count; i++) {
        const char *name = commands[i].name, *space = strchr(name, ' ');
        int first = (int)(space != NULL ? (size_t)(space - name) : strlen(name));
        if (group == NULL) {
            if (strncmp(last, name, (size_t)first) != 0 || last[first] != ' ')
                fprintf(out, "%.*s ", first, name);
            last = name;
        } else if (space != NULL && (size_t)first == len && strncmp(name, group, len) == 0) {
            fprintf(out, "%s ", space + 1);
        }
    }
}

static void put_options(FILE *out, const struct command *command)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (!command_takes(command, (enum option)i))
            continue;
        put_spelling(out, &option_rows[i], " ");
        fputc(' ', out);
    }
}

static void put_commands(FILE *out, const struct dialect *dialect)
{
    static const char *const groups[] = {"rollout", "campaign", "audit",
                                         "node",    "tokens",   "profile"};
    fprintf(out, "    case $cmd in\n    %s'') offers=\"", dialect->arm);
    put_group(out, NULL);
    fputs("\" ;;\n", out);
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        fprintf(out, "    %s%s) offers=\"", dialect->arm, groups[i]);
        put_group(out, groups[i]);
        fputs("\" ;;\n", out);
    }
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, "    %s'%s') opts=\"", dialect->arm, commands[i].name);
        put_options(out, &commands[i]);
        fputs("\" offers=\"", out);
        put_offers(out, commands[i].offers);
        fprintf(out, "\" ;;\n    %s'%s '*) opts=\"", dialect->arm, commands[i].name);
        put_options(out, &commands[i]);
        fputs("\" ;;\n", out);
    }
    fputs("    esac\n", out);
}

static void put_function(FILE *out, const struct dialect *dialect)
{
    fputs(dialect->head, out);
    put_values(out, dialect);
    put_walk(out, dialect);
    put_commands(out, dialect);
    fputs(dialect->tail, out);
}

static void put_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

static void put_fish_option(FILE *out, const char *condition, const struct option_row *row)
{
    fprintf(out, "complete -c stellarctl%s -l %s", condition, row->name);
    if (row->letter != 0)
        fprintf(out, " -s %c", row->letter);
    if (row->argument != NULL)
        fputs(row->completes == COMPLETES_FILES ? " -r -F" : " -x", out);
    const char *words = value_words(row->completes);
    if (words != NULL && words[0] == '$') {
        fputs(" -a '(stellarctl profile list -o name 2>/dev/null)'", out);
    } else if (words != NULL) {
        fputs(" -a ", out);
        put_quoted(out, words);
    }
    fputs(" -d ", out);
    put_quoted(out, row->text);
    fputc('\n', out);
}

static void put_fish_command(FILE *out, const struct command *command)
{
    const char *space = strchr(command->name, ' ');
    int first = (int)(space != NULL ? space - command->name : (int)strlen(command->name));
    char condition[160];
    if (space != NULL)
        fprintf(out, "complete -c stellarctl -n '__fish_seen_subcommand_from %.*s' -a %s -d ",
                first, command->name, space + 1);
    else
        fprintf(out, "complete -c stellarctl -n __fish_use_subcommand -a %s -d ", command->name);
    put_quoted(out, command->summary);
    fputc('\n', out);
    snprintf(condition, sizeof(condition), " -n '__fish_seen_subcommand_from %.*s%s%s'", first,
             command->name, space != NULL ? "; and __fish_seen_subcommand_from " : "",
             space != NULL ? space + 1 : "");
    for (size_t i = 0; i < command->option_count; i++)
        put_fish_option(out, condition, &option_rows[command->options[i]]);
    if (command->offers == WORDS_NONE)
        return;
    fprintf(out, "complete -c stellarctl%s -a \"", condition);
    if (command->offers == WORDS_PROFILES)
        fputs("(stellarctl profile list -o name 2>/dev/null)", out);
    else
        put_offers(out, command->offers);
    fputs("\"\n", out);
}

static void put_fish(FILE *out)
{
    const char *last = "";
    fputs("# fish completion of stellarctl\ncomplete -c stellarctl -f\n", out);
    for (int i = 0; i < OPTION_GLOBAL_COUNT; i++)
        put_fish_option(out, "", &option_rows[i]);
    for (size_t i = 0; i < command_count; i++) {
        const char *space = strchr(commands[i].name, ' ');
        size_t first = space != NULL ? (size_t)(space - commands[i].name) : 0;
        if (space != NULL && strncmp(last, commands[i].name, first + 1) != 0)
            fprintf(out, "complete -c stellarctl -n __fish_use_subcommand -a %.*s\n", (int)first,
                    commands[i].name);
        last = commands[i].name;
        put_fish_command(out, &commands[i]);
    }
}

bool completion_print(FILE *out, const char *shell)
{
    if (strcmp(shell, "fish") == 0)
        put_fish(out);
    else if (strcmp(shell, "bash") == 0 || strcmp(shell, "zsh") == 0)
        put_function(out, shell[0] == 'b' ? &bash : &zsh);
    else
        return false;
    return true;
}

enum exit_code cmd_completion(struct context *context, const struct arguments *arguments)
{
    if (completion_print(context->out, arguments->words[0]))
        return EXIT_DONE;
    context_error(context, "'%s': completions are made for bash, zsh and fish",
                  arguments->words[0]);
    return EXIT_USAGE;
}
