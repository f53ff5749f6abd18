#pragma once
/*
 * cli/command.h - the commands of stellarctl as one table, and how each is run.
 */

#include <stdio.h>

#include "cli/arguments.h"
#include "cli/context.h"

struct profiles;

/* What a shell can offer as a command's first word. */
enum command_words {
    WORDS_NONE,
    WORDS_KINDS,
    WORDS_OPERATIONS,
    WORDS_SHELLS,
    WORDS_COMMANDS,
    WORDS_PROFILES,
};

#define COMMAND_OPTIONS_MAX 16

struct command {
    const char *name;  /* "get" or "rollout start" */
    const char *words; /* "KIND [NAME]" for help; "" = none */
    const char *summary;
    const char *more;                         /* further help, or NULL */
    enum option options[COMMAND_OPTIONS_MAX]; /* besides the global ones */
    size_t option_count;
    size_t words_min, words_max;
    enum command_words offers;
    bool offline; /* needs no server: neither token nor URL are looked for */
    enum exit_code (*run)(struct context *context, const struct arguments *arguments);
};

extern const struct command commands[];
extern const size_t command_count;

/* The command that the words begin with; *out_used = how many of them are its name. NULL: none. */
const struct command *command_find(const char *const *words, size_t count, size_t *out_used);
bool command_takes(const struct command *command, enum option option);

/* The whole program: argv[0] is its name. */
enum exit_code command_main(int argc, char **argv, struct context *context);

void help_print(FILE *out);
void help_print_command(FILE *out, const struct command *command);
/* Commands of two words whose first is the group: "node" of "node token". */
bool help_has_group(const char *word);
void help_print_group(FILE *out, const char *group);
/* "bash", "zsh" or "fish": a script made of the tables; false for another shell. */
bool completion_print(FILE *out, const char *shell);

/* cmd_api.c: a call whose answer goes to a file, whole or not at all. */
enum exit_code call_to_file(struct context *context, const struct call *call, const char *path);

/* Each stands in the file cli/cmd_NAME.c; `arguments` holds the words after the command's name. */
enum exit_code cmd_api(struct context *context, const struct arguments *arguments);
enum exit_code cmd_apply(struct context *context, const struct arguments *arguments);
enum exit_code cmd_audit_verify(struct context *context, const struct arguments *arguments);
enum exit_code cmd_backup_create(struct context *context, const struct arguments *arguments);
enum exit_code cmd_backup_delete(struct context *context, const struct arguments *arguments);
enum exit_code cmd_backup_get(struct context *context, const struct arguments *arguments);
enum exit_code cmd_backup_list(struct context *context, const struct arguments *arguments);
enum exit_code cmd_campaign_cancel(struct context *context, const struct arguments *arguments);
enum exit_code cmd_campaign_create(struct context *context, const struct arguments *arguments);
enum exit_code cmd_campaign_devices(struct context *context, const struct arguments *arguments);
enum exit_code cmd_campaign_list(struct context *context, const struct arguments *arguments);
enum exit_code cmd_campaign_pause(struct context *context, const struct arguments *arguments);
enum exit_code cmd_campaign_resume(struct context *context, const struct arguments *arguments);
enum exit_code cmd_campaign_show(struct context *context, const struct arguments *arguments);
enum exit_code cmd_campaign_start(struct context *context, const struct arguments *arguments);
enum exit_code cmd_campaign_watch(struct context *context, const struct arguments *arguments);
enum exit_code cmd_completion(struct context *context, const struct arguments *arguments);
enum exit_code cmd_delete(struct context *context, const struct arguments *arguments);
enum exit_code cmd_diff(struct context *context, const struct arguments *arguments);
enum exit_code cmd_export(struct context *context, const struct arguments *arguments);
enum exit_code cmd_get(struct context *context, const struct arguments *arguments);
enum exit_code cmd_help(struct context *context, const struct arguments *arguments);
enum exit_code cmd_image_upload(struct context *context, const struct arguments *arguments);
enum exit_code cmd_import(struct context *context, const struct arguments *arguments);
enum exit_code cmd_inspect(struct context *context, const struct arguments *arguments);
enum exit_code cmd_login(struct context *context, const struct arguments *arguments);
enum exit_code cmd_logout(struct context *context, const struct arguments *arguments);
enum exit_code cmd_node_join_token(struct context *context, const struct arguments *arguments);
enum exit_code cmd_incident_acknowledge(struct context *context, const struct arguments *arguments);
enum exit_code cmd_node_reboot(struct context *context, const struct arguments *arguments);
enum exit_code cmd_node_release(struct context *context, const struct arguments *arguments);
enum exit_code cmd_node_token(struct context *context, const struct arguments *arguments);
enum exit_code cmd_profile_delete(struct context *context, const struct arguments *arguments);
enum exit_code cmd_profile_list(struct context *context, const struct arguments *arguments);
enum exit_code cmd_profile_set(struct context *context, const struct arguments *arguments);
enum exit_code cmd_profile_use(struct context *context, const struct arguments *arguments);
enum exit_code cmd_rollback(struct context *context, const struct arguments *arguments);
enum exit_code cmd_rollout_confirm(struct context *context, const struct arguments *arguments);
enum exit_code cmd_rollout_list(struct context *context, const struct arguments *arguments);
enum exit_code cmd_rollout_nodes(struct context *context, const struct arguments *arguments);
enum exit_code cmd_rollout_pause(struct context *context, const struct arguments *arguments);
enum exit_code cmd_rollout_resume(struct context *context, const struct arguments *arguments);
enum exit_code cmd_rollout_rollback(struct context *context, const struct arguments *arguments);
enum exit_code cmd_rollout_show(struct context *context, const struct arguments *arguments);
enum exit_code cmd_rollout_start(struct context *context, const struct arguments *arguments);
enum exit_code cmd_rollout_watch(struct context *context, const struct arguments *arguments);
enum exit_code cmd_report(struct context *context, const struct arguments *arguments);
enum exit_code cmd_runbook_list(struct context *context, const struct arguments *arguments);
enum exit_code cmd_runbook_run(struct context *context, const struct arguments *arguments);
enum exit_code cmd_tokens_create(struct context *context, const struct arguments *arguments);
enum exit_code cmd_user_create(struct context *context, const struct arguments *arguments);
enum exit_code cmd_user_password(struct context *context, const struct arguments *arguments);
enum exit_code cmd_validate(struct context *context, const struct arguments *arguments);
enum exit_code cmd_verify_cancel(struct context *context, const struct arguments *arguments);
enum exit_code cmd_verify_list(struct context *context, const struct arguments *arguments);
enum exit_code cmd_verify_show(struct context *context, const struct arguments *arguments);
enum exit_code cmd_verify_start(struct context *context, const struct arguments *arguments);
enum exit_code cmd_verify_watch(struct context *context, const struct arguments *arguments);
enum exit_code cmd_version(struct context *context, const struct arguments *arguments);
enum exit_code cmd_wait(struct context *context, const struct arguments *arguments);
enum exit_code cmd_whoami(struct context *context, const struct arguments *arguments);
