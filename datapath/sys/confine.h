#pragma once
/*
 * datapath/sys/confine.h - gives up for good the rights of root that a process has no use for:
 * capabilities, new rights by exec, system calls. Whoever starts it, systemd or a shell.
 *
 * For each role the table of confine.c says what stays and why. What is refused fails with EPERM.
 */

#include "base/err.h"

enum confine_role {
    CONFINE_AGENT, /* stellar-agent: programs NICs, writes root's files, starts no program */
    CONFINE_TOOLS, /* starter.h's process: starts tools that touch a device behind its driver */
    CONFINE_ROLES,
};

/*
 * Of the calling thread and all that it starts: to be called before any other thread is there.
 * Keeps of the role's capabilities those that the process has; without root's rights it has none
 * and that is no error. ERR_DENIED: the kernel did not let us, nothing can be said of what stays.
 */
ERR_MUST_CHECK enum err_code confine(enum confine_role role, struct err *err);
