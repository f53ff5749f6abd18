/*
 * datapath/linux_writers.c - who made the changes that dp_linux hears of, as far as the kernel
 * tells. Called by dp_linux.c.
 */
#include "datapath/linux.h"

#include <stdio.h>
#include <string.h>

#include "datapath/sys/sys.h"

#define PID_BITS 22 /* libnl's port ids: the process id, and above it which of its sockets */

/* PROC_PID_INIT_INO of linux/proc_ns.h. Elsewhere the ids of the kernel's senders are those of
 * other processes. */
static bool sees_host_processes(const char *root)
{
    char name[32];
    return sys_link_name(root, "/proc/self/ns/pid", name, sizeof(name)) &&
           strcmp(name, "pid:[4026531836]") == 0;
}

void linux_writer_name(const char *root, uint32_t port, char out[DP_WRITER_SIZE])
{
    char path[64], name[64];
    uint32_t pid = port & ((1U << PID_BITS) - 1);
    out[0] = '\0';
    if (port == 0)
        return;
    bool known = pid != 0 && sees_host_processes(root);
    snprintf(path, sizeof(path), "/proc/%u/comm", (unsigned)pid);
    if (known && sys_read(root, path, name, sizeof(name), NULL) == ERR_OK)
        snprintf(out, DP_WRITER_SIZE, "%s (process %u)", name, (unsigned)pid);
    else if (known && pid == port)
        snprintf(out, DP_WRITER_SIZE, "process %u, which has ended or is hidden", (unsigned)pid);
    else /* libnl's, or one that the kernel made up for a second socket */
        snprintf(out, DP_WRITER_SIZE, "netlink port %u", (unsigned)port);
}

static const char *port_of(const struct dp_linux *dp, const struct nl_change *change)
{
    for (size_t i = 0; i < dp->port_count; i++)
        if (change->ifindex != 0 ? dp->ports[i].ifindex == change->ifindex
                                 : strcmp(dp->ports[i].ifname, change->ifname) == 0)
            return dp->ports[i].id;
    return NULL;
}

/* The newest LINUX_WRITERS_MAX are kept. */
void linux_changed(void *arg, const struct nl_change *change)
{
    struct dp_linux *dp = arg;
    const char *subject = port_of(dp, change);
    if (subject == NULL)
        return;
    if (dp->writer_count == LINUX_WRITERS_MAX)
        memmove(dp->writers, dp->writers + 1, --dp->writer_count * sizeof(dp->writers[0]));
    struct linux_writer *writer = &dp->writers[dp->writer_count++];
    *writer = (struct linux_writer){.family = change->family};
    snprintf(writer->subject, sizeof(writer->subject), "%s", subject);
    linux_writer_name(dp->root, change->port, writer->name);
}

void linux_writers_observed(struct dp_linux *dp)
{
    size_t kept = 0;
    for (size_t i = 0; i < dp->writer_count; i++) {
        if (dp->writers[i].seen)
            continue;
        dp->writers[kept] = dp->writers[i];
        dp->writers[kept++].seen = true;
    }
    dp->writer_count = kept;
}

/* Named only when all that is known to have touched it is one and the same. */
void linux_writer(struct dp *base, const char *kind, const char *subject, char out[DP_WRITER_SIZE])
{
    const struct dp_linux *dp = (struct dp_linux *)base;
    const char *name = "";
    for (size_t i = 0; i < dp->writer_count; i++) {
        const struct linux_writer *writer = &dp->writers[i];
        size_t len = strlen(writer->family);
        if (strcmp(writer->subject, subject) != 0 || strncmp(kind, writer->family, len) != 0 ||
            kind[len] != '.')
            continue;
        if (name[0] != '\0' && strcmp(name, writer->name) != 0)
            name = "several";
        else
            name = writer->name;
    }
    snprintf(out, DP_WRITER_SIZE, "%s", name);
}
