#pragma once
/*
 * agent/reboot_command.h - how a real node is asked and rebooted: agent.h's struct agent_reboot
 * over the kernel and the process that starts tools. Called by agent_main.c.
 */

#include "agent/agent.h"
#include "datapath/sys/starter.h"

struct reboot_command {
    const char *const *words; /* the command, NULL-terminated; borrowed */
    const char *root;         /* "" in real life; borrowed */
    struct starter *starter;  /* borrowed */
    struct flasher *flasher;  /* borrowed; for nothing else, so that it is called by one thread */
};

/* Command lines that the starter may start: those of mstflint, and this one when there is one
 * (words NULL = none). In static memory: of one call of a process. */
const struct starter_form *reboot_command_forms(const char *const *words);

/* command is borrowed for as long as the process runs. */
void reboot_command_how(struct reboot_command *command, const struct reboot_rules *allowed,
                        struct agent_reboot *out);
