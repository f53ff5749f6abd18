/*
 * agent/reboot_command.c - see reboot_command.h.
 */
#include "agent/reboot_command.h"

#include <assert.h>
#include <string.h>

#include "datapath/mstflint.h"
#include "datapath/rdma_users.h"
#include "datapath/sys/child.h"

#define FORMS_MAX        16
#define COMMAND_MS       60000 /* to ask for a reboot, not to reboot */
#define COMMAND_SAID_MAX 200
#define RELOAD_S         120 /* a driver that starts anew; then the device counts as stuck */

const struct starter_form *reboot_command_forms(const char *const *words)
{
    static struct starter_form forms[FORMS_MAX];
    size_t count = 0;
    if (words == NULL)
        return mstflint_forms;
    for (; mstflint_forms[count].words[0] != NULL; count++)
        forms[count] = mstflint_forms[count];
    assert(count + 2 <= FORMS_MAX);
    for (size_t i = 0; i < STARTER_WORDS_MAX && words[i] != NULL; i++)
        forms[count].words[i] = words[i];
    return forms;
}

static enum err_code users(void *arg, const char *device, int *out_count, struct err *err)
{
    const struct reboot_command *command = arg;
    if (device != NULL)
        return command->flasher->ops->users(command->flasher, device, out_count, err);
    return rdma_users(command->root, NULL, NULL, out_count, err);
}

static enum err_code reboot(void *arg, struct err *err)
{
    const struct reboot_command *command = arg;
    const struct child child = {
        .argv = command->words, .deadline_ms = COMMAND_MS, .starter = command->starter};
    OWN(str) char *text = NULL;
    size_t len;
    int status = 0;
    enum err_code code = child_run(&child, &status, &text, &len, err);
    if (code == ERR_OK && status != 0)
        code = err_set(err, ERR_IO, "%s ended with %d: %.*s", command->words[0], status,
                       COMMAND_SAID_MAX, text);
    return code;
}

static enum err_code reload(void *arg, const char *device, struct err *err)
{
    const struct reboot_command *command = arg;
    return command->flasher->ops->reload(command->flasher, device, RELOAD_S, err);
}

void reboot_command_how(struct reboot_command *command, const struct reboot_rules *allowed,
                        struct agent_reboot *out)
{
    *out = (struct agent_reboot){
        .rules = *allowed, .users = users, .reboot = reboot, .reload = reload, .arg = command};
}
