/*
 * cli/commands.c - every command of stellarctl, one row each: see command.h.
 */
#include <string.h>

#include "cli/command.h"

#define COUNT_(...)     (sizeof((enum option[]){__VA_ARGS__}) / sizeof(enum option))
#define OPTIONS(...)    .options = {__VA_ARGS__}, .option_count = COUNT_(__VA_ARGS__)
#define WORDS(min, max) .words_min = min, .words_max = max

const struct command commands[] = {
    {"get", "KIND [NAME]", "show things",
     "Kinds are listed by `stellarctl help kinds`. Without NAME all are shown. --query passes any\n"
     "filter that the list takes: --query severity=error.",
     OPTIONS(OPTION_TENANT, OPTION_NODE, OPTION_SELECTOR, OPTION_QUERY, OPTION_AFTER, OPTION_LIMIT,
             OPTION_WATCH, OPTION_INTERVAL),
     WORDS(1, 2), WORDS_KINDS, false, cmd_get},
    {"apply", "", "make or change what files say",
     "FILE is a document, several in a row, or a folder of *.json. {\"fabric_profile\": ...} and\n"
     "{\"qos_policy\": ...} are known by their content; anything else stands in\n"
     "{\"kind\": \"placement\", \"tenant\": \"a\", \"name\": \"job\", \"document\": {...}}.",
     OPTIONS(OPTION_FILE, OPTION_TENANT, OPTION_DRY_RUN, OPTION_MESSAGE, OPTION_OVERRIDE,
             OPTION_REASON, OPTION_IF_MATCH),
     WORDS(0, 0), WORDS_NONE, false, cmd_apply},
    {"diff", "[KIND [NAME]]", "show the difference to the server, or of two revisions",
     "Exit status 1 when there is a difference.",
     OPTIONS(OPTION_FILE, OPTION_TENANT, OPTION_FROM, OPTION_TO), WORDS(0, 2), WORDS_KINDS, false,
     cmd_diff},
    {"validate", "", "check files and store nothing", NULL, OPTIONS(OPTION_FILE, OPTION_TENANT),
     WORDS(0, 0), WORDS_NONE, false, cmd_validate},
    {"delete", "KIND NAME...", "remove things", NULL,
     OPTIONS(OPTION_TENANT, OPTION_DRY_RUN, OPTION_MESSAGE, OPTION_REASON, OPTION_IF_MATCH),
     WORDS(2, ARGUMENTS_MAX), WORDS_KINDS, false, cmd_delete},
    {"rollback", "KIND [NAME]", "make an old revision the newest one", NULL,
     OPTIONS(OPTION_TO, OPTION_TENANT, OPTION_DRY_RUN, OPTION_MESSAGE, OPTION_OVERRIDE,
             OPTION_REASON, OPTION_IF_MATCH),
     WORDS(1, 2), WORDS_KINDS, false, cmd_rollback},
    {"rollout start", "", "bring changes to nodes in waves",
     "-f gives a whole request as JSON; --all, --node and --selector choose the nodes.",
     OPTIONS(OPTION_FILE, OPTION_ALL, OPTION_NODE, OPTION_SELECTOR, OPTION_MESSAGE, OPTION_REASON,
             OPTION_DRY_RUN),
     WORDS(0, 0), WORDS_NONE, false, cmd_rollout_start},
    {"rollout list", "", "show rollouts", NULL, OPTIONS(OPTION_LIMIT), WORDS(0, 0), WORDS_NONE,
     false, cmd_rollout_list},
    {"rollout show", "ROLLOUT", "show one rollout with its waves and gates", NULL,
     .option_count = 0, WORDS(1, 1), WORDS_NONE, false, cmd_rollout_show},
    {"rollout nodes", "ROLLOUT", "show its nodes, each with its wave, state and problem", NULL,
     OPTIONS(OPTION_LIMIT), WORDS(1, 1), WORDS_NONE, false, cmd_rollout_nodes},
    {"rollout watch", "ROLLOUT", "follow a rollout until it ends",
     "Exit status 0 when it is done, 1 when it failed or was rolled back.",
     OPTIONS(OPTION_INTERVAL), WORDS(1, 1), WORDS_NONE, false, cmd_rollout_watch},
    {"rollout pause", "ROLLOUT", "begin no further wave", NULL, OPTIONS(OPTION_REASON), WORDS(1, 1),
     WORDS_NONE, false, cmd_rollout_pause},
    {"rollout resume", "ROLLOUT", "go on after a pause", NULL, OPTIONS(OPTION_REASON), WORDS(1, 1),
     WORDS_NONE, false, cmd_rollout_resume},
    {"rollout confirm", "ROLLOUT", "confirm the wave that waits for it", NULL,
     OPTIONS(OPTION_REASON), WORDS(1, 1), WORDS_NONE, false, cmd_rollout_confirm},
    {"rollout rollback", "ROLLOUT", "return all its nodes to the plans before", NULL,
     OPTIONS(OPTION_REASON), WORDS(1, 1), WORDS_NONE, false, cmd_rollout_rollback},
    {"verify start", "[KIND...]", "measure between the RDMA devices of nodes",
     "KIND is send_lat, read_bw, write_bw, mesh or allreduce. -f gives a whole request as JSON;\n"
     "--all, --node and --selector choose the nodes.",
     OPTIONS(OPTION_FILE, OPTION_ALL, OPTION_NODE, OPTION_SELECTOR, OPTION_MESSAGE, OPTION_REASON,
             OPTION_DRY_RUN),
     WORDS(0, ARGUMENTS_MAX), WORDS_NONE, false, cmd_verify_start},
    {"verify list", "", "show verifications", NULL, OPTIONS(OPTION_LIMIT), WORDS(0, 0), WORDS_NONE,
     false, cmd_verify_list},
    {"verify show", "VERIFICATION", "show one verification with its tests", NULL, .option_count = 0,
     WORDS(1, 1), WORDS_NONE, false, cmd_verify_show},
    {"verify watch", "VERIFICATION", "follow a verification until it ends",
     "Exit status 0 when every test passed or no limit is for its devices, 1 when one failed or "
     "is\n"
     "unknown, or it was cancelled.",
     OPTIONS(OPTION_INTERVAL), WORDS(1, 1), WORDS_NONE, false, cmd_verify_watch},
    {"verify cancel", "VERIFICATION", "end it; nodes that are at a test stop", NULL,
     OPTIONS(OPTION_REASON), WORDS(1, 1), WORDS_NONE, false, cmd_verify_cancel},
    {"campaign create", "[IMAGE]",
     "make a draft of a campaign that brings a firmware image to devices",
     "IMAGE is an id of `stellarctl get images`. -f gives a whole request as JSON, with windows,\n"
     "waves, limits and activation; --all, --node and --selector choose the nodes. --dry-run\n"
     "shows the devices and the jobs on their nodes, and makes nothing.",
     OPTIONS(OPTION_FILE, OPTION_ALL, OPTION_NODE, OPTION_SELECTOR, OPTION_MESSAGE, OPTION_REASON,
             OPTION_DRY_RUN),
     WORDS(0, 1), WORDS_NONE, false, cmd_campaign_create},
    {"campaign list", "", "show firmware campaigns", NULL, OPTIONS(OPTION_LIMIT), WORDS(0, 0),
     WORDS_NONE, false, cmd_campaign_list},
    {"campaign show", "CAMPAIGN", "show one campaign with its waves", NULL, .option_count = 0,
     WORDS(1, 1), WORDS_NONE, false, cmd_campaign_show},
    {"campaign devices", "CAMPAIGN", "show its devices, each with its phase or outcome", NULL,
     OPTIONS(OPTION_LIMIT), WORDS(1, 1), WORDS_NONE, false, cmd_campaign_devices},
    {"campaign watch", "CAMPAIGN", "follow a campaign until it ends or halts",
     "Exit status 0 when it is done, 1 when it is halted or cancelled.", OPTIONS(OPTION_INTERVAL),
     WORDS(1, 1), WORDS_NONE, false, cmd_campaign_watch},
    {"campaign start", "CAMPAIGN", "begin with a draft", NULL, OPTIONS(OPTION_REASON), WORDS(1, 1),
     WORDS_NONE, false, cmd_campaign_start},
    {"campaign pause", "CAMPAIGN", "start no further device", NULL, OPTIONS(OPTION_REASON),
     WORDS(1, 1), WORDS_NONE, false, cmd_campaign_pause},
    {"campaign resume", "CAMPAIGN", "go on after a pause or a halt", NULL, OPTIONS(OPTION_REASON),
     WORDS(1, 1), WORDS_NONE, false, cmd_campaign_resume},
    {"campaign cancel", "CAMPAIGN", "end it; what is being flashed goes on to its end", NULL,
     OPTIONS(OPTION_REASON), WORDS(1, 1), WORDS_NONE, false, cmd_campaign_cancel},
    {"incident acknowledge", "INCIDENT", "say why an incident may stand", NULL,
     OPTIONS(OPTION_REASON), WORDS(1, 1), WORDS_NONE, false, cmd_incident_acknowledge},
    {"wait", "generation N|current", "wait until every node has applied a generation",
     "Exit status 1 when --timeout passes before.", .option_count = 0, WORDS(2, 2), WORDS_NONE,
     false, cmd_wait},
    {"audit verify", "", "check the audit log's chain of hashes", NULL, OPTIONS(OPTION_ANCHOR),
     WORDS(0, 0), WORDS_NONE, false, cmd_audit_verify},
    {"backup create", "", "make a copy of the server's store and wait for it", NULL,
     OPTIONS(OPTION_REASON), WORDS(0, 0), WORDS_NONE, false, cmd_backup_create},
    {"backup list", "", "show the copies that are kept", NULL, OPTIONS(OPTION_LIMIT), WORDS(0, 0),
     WORDS_NONE, false, cmd_backup_list},
    {"backup get", "BACKUP", "show a copy; with --out fetch it, for `stellard restore`", NULL,
     OPTIONS(OPTION_OUT), WORDS(1, 1), WORDS_NONE, false, cmd_backup_get},
    {"backup delete", "BACKUP...", "remove copies", NULL, OPTIONS(OPTION_REASON),
     WORDS(1, ARGUMENTS_MAX), WORDS_NONE, false, cmd_backup_delete},
    {"node join-token", "NODE", "make a one-time token with which a node enrols", NULL,
     OPTIONS(OPTION_LIFETIME, OPTION_REASON), WORDS(1, 1), WORDS_NONE, false, cmd_node_join_token},
    {"node reboot", "NODE", "approve a reboot or reload for what waits on it (--reboot ask)", NULL,
     OPTIONS(OPTION_REASON), WORDS(1, 1), WORDS_NONE, false, cmd_node_reboot},
    {"node release", "NODE", "let a node try again what it gave up", NULL, OPTIONS(OPTION_REASON),
     WORDS(1, 1), WORDS_NONE, false, cmd_node_release},
    {"node token", "NODE", "make a new token for a node's agent; the old one ends", NULL,
     OPTIONS(OPTION_REASON), WORDS(1, 1), WORDS_NONE, false, cmd_node_token},
    {"tokens create", "", "make an API token; its secret is printed this once", NULL,
     OPTIONS(OPTION_ROLE, OPTION_TENANT, OPTION_SCOPE, OPTION_SOURCE, OPTION_LIFETIME,
             OPTION_DESCRIPTION, OPTION_REASON),
     WORDS(0, 0), WORDS_NONE, false, cmd_tokens_create},
    {"user create", "NAME", "make a user; NAME@TENANT is a tenant's",
     "The password is asked for, or is the first line of --password-file: 12 to 128 bytes.",
     OPTIONS(OPTION_ROLE, OPTION_DESCRIPTION, OPTION_PASSWORD_FILE, OPTION_REASON), WORDS(1, 1),
     WORDS_NONE, false, cmd_user_create},
    {"user password", "NAME", "set a user's password; all sessions of the user end",
     "One's own: the old password is asked for first, with --password-file, too.",
     OPTIONS(OPTION_PASSWORD_FILE, OPTION_REASON), WORDS(1, 1), WORDS_NONE, false,
     cmd_user_password},
    {"inspect", "FILE...", "tell what outputs of tools, logs and documents say",
     "The server reads each file and stores nothing. A table shows the findings; -o json all "
     "facts.",
     .option_count = 0, WORDS(1, ARGUMENTS_MAX), WORDS_NONE, false, cmd_inspect},
    {"report", "[REPORT]", "show a report of the fleet's health, or of a tenant's jobs",
     "REPORT is a number of `get health-reports`, or current; --tenant asks for the tenant's of "
     "now. --lang and --out make a page to print; --accept text/csv a table.",
     OPTIONS(OPTION_TENANT, OPTION_LANGUAGE, OPTION_ACCEPT, OPTION_OUT), WORDS(0, 1), WORDS_NONE,
     false, cmd_report},
    {"runbook list", "", "list the runbooks: symptoms, and the steps that look for their cause",
     NULL, .option_count = 0, WORDS(0, 0), WORDS_NONE, false, cmd_runbook_list},
    {"runbook run", "RUNBOOK", "look for the cause of a symptom on nodes and in files",
     "A file is more evidence: NODE=FILE where there are several nodes. Without --node the files "
     "alone are looked at. A table shows each step; -o json all evidence.",
     OPTIONS(OPTION_NODE, OPTION_FILE, OPTION_WINDOW), WORDS(1, 1), WORDS_NONE, false,
     cmd_runbook_run},
    {"image upload", "FILE COMPONENT VERSION", "store a firmware image",
     "COMPONENT is the device's kernel driver: image upload fw.bin mlx5_core 22.41.1000",
     OPTIONS(OPTION_PSID, OPTION_REASON), WORDS(3, 3), WORDS_NONE, false, cmd_image_upload},
    {"export", "", "print the whole configuration as one document", NULL, OPTIONS(OPTION_OUT),
     WORDS(0, 0), WORDS_NONE, false, cmd_export},
    {"import", "", "put an exported configuration in", NULL,
     OPTIONS(OPTION_FILE, OPTION_MODE, OPTION_DRY_RUN, OPTION_MESSAGE, OPTION_REASON), WORDS(0, 0),
     WORDS_NONE, false, cmd_import},
    {"login", "", "log in with a user's password; the profile keeps a token",
     "The token lives for --lifetime [12h]; `stellarctl logout` ends it.",
     OPTIONS(OPTION_USER, OPTION_PASSWORD_FILE, OPTION_LIFETIME), WORDS(0, 0), WORDS_NONE, false,
     cmd_login},
    {"logout", "", "end the token that login made", NULL, .option_count = 0, WORDS(0, 0),
     WORDS_NONE, false, cmd_logout},
    {"whoami", "", "show whom the server takes you for", NULL, .option_count = 0, WORDS(0, 0),
     WORDS_NONE, false, cmd_whoami},
    {"api", "[OPERATION]", "call any operation of the API; without OPERATION list them", NULL,
     OPTIONS(OPTION_PARAM, OPTION_QUERY, OPTION_HEADER, OPTION_FILE, OPTION_CONTENT_TYPE,
             OPTION_ACCEPT, OPTION_OUT),
     WORDS(0, 1), WORDS_OPERATIONS, false, cmd_api},
    {"profile list", "", "show the profiles", NULL, .option_count = 0, WORDS(0, 0), WORDS_NONE,
     true, cmd_profile_list},
    {"profile use", "NAME", "make a profile the current one", NULL, .option_count = 0, WORDS(1, 1),
     WORDS_PROFILES, true, cmd_profile_use},
    {"profile set", "NAME", "make or change a profile from --server, --token-file, --ca-file",
     "--token-file - stores the token itself, read from standard input.", .option_count = 0,
     WORDS(1, 1), WORDS_PROFILES, true, cmd_profile_set},
    {"profile delete", "NAME", "forget a profile", NULL, .option_count = 0, WORDS(1, 1),
     WORDS_PROFILES, true, cmd_profile_delete},
    {"completion", "bash|zsh|fish", "print a shell's completions", NULL, .option_count = 0,
     WORDS(1, 1), WORDS_SHELLS, true, cmd_completion},
    {"version", "", "print the version", NULL, .option_count = 0, WORDS(0, 0), WORDS_NONE, true,
     cmd_version},
    {"help", "[COMMAND|kinds]", "print help", NULL, .option_count = 0, WORDS(0, 2), WORDS_COMMANDS,
     true, cmd_help},
};
const size_t command_count = sizeof(commands) / sizeof(commands[0]);

/* The one of two words is asked first: "rollout start" is not a "rollout". */
const struct command *command_find(const char *const *words, size_t count, size_t *out_used)
{
    for (size_t used = count < 2 ? count : 2; used > 0; used--) {
        char name[64];
        if (used == 2)
            snprintf(name, sizeof(name), "%s %s", words[0], words[1]);
        else
            snprintf(name, sizeof(name), "%s", words[0]);
        for (size_t i = 0; i < command_count; i++)
            if (strcmp(commands[i].name, name) == 0) {
                *out_used = used;
                return &commands[i];
            }
    }
    return NULL;
}

bool command_takes(const struct command *command, enum option option)
{
    if (option < OPTION_GLOBAL_COUNT)
        return true;
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i] == option)
            return true;
    return false;
}
