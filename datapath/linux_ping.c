/*
 * datapath/linux_ping.c - dp.h's ping(): from the address of a port's interface, over the RDMA
 * device that stands on it; see linux.h. Aside: a device that does not come back holds nobody up.
 */
#include "datapath/linux.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "datapath/verbs/ping.h"

#define ADDRESS_SIZE INET6_ADDRSTRLEN
#define GRACE_MS     500 /* for the other thread to begin and to end */
#define END_MS       50  /* to take requests back; what takes longer goes on without us */

/* What the other thread works with: all of it its own. */
struct job {
    char device[RDMA_NAME_SIZE], ifname[IFNAME_SIZE], source[ADDRESS_SIZE];
    int family; /* of all addresses */
    char addresses[VERBS_PING_MAX][ADDRESS_SIZE];
    struct verbs_ping peers[VERBS_PING_MAX];
    struct verbs_pinged *pinged;
    size_t count;
    int wait_ms;
    enum err_code code;
    struct err err;
};

static const void *bytes_of(const struct sockaddr *address, int family)
{
    if (address == NULL || address->sa_family != family)
        return NULL;
    if (family == AF_INET)
        return &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    return IN6_IS_ADDR_LINKLOCAL(v6) ? NULL : v6;
}

/* The first address of the interface that others can reach. */
static enum err_code source_of(const char *ifname, int family, char out[ADDRESS_SIZE],
                               struct err *err)
{
    struct ifaddrs *list = NULL;
    out[0] = '\0';
    if (getifaddrs(&list) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot list the addresses of %s", ifname);
    for (const struct ifaddrs *each = list; each != NULL && out[0] == '\0'; each = each->ifa_next) {
        const void *bytes = bytes_of(each->ifa_addr, family);
        if (bytes != NULL && strcmp(each->ifa_name, ifname) == 0)
            inet_ntop(family, bytes, out, ADDRESS_SIZE);
    }
    freeifaddrs(list);
    return out[0] != '\0' ? ERR_OK
                          : err_set(err, ERR_UNSUPPORTED, "%s has no %s address", ifname,
                                    family == AF_INET ? "IPv4" : "IPv6");
}

/* A list of addresses begins with one of links, which waits for whoever changes a link. */
static void job_run(void *arg)
{
    struct job *job = arg;
    const struct verbs_ping_from from = {.device = job->device, .address = job->source};
    job->code = source_of(job->ifname, job->family, job->source, &job->err);
    if (job->code == ERR_OK)
        job->code =
            verbs_ping(&from, job->peers, job->count, job->wait_ms, &job->pinged, &job->err);
}

static void job_release(void *arg)
{
    verbs_ping_end(((struct job *)arg)->pinged);
    free(arg);
}

/* Taking requests back is another job of the same key: the answers do not wait for it, the next
 * question does. */
static void end_run(void *arg)
{
    verbs_ping_end(arg);
}

/* Its thread has freed it. Of a job that was refused (no memory, no thread) the requests stay for
 * as long as the agent runs: nothing here may hang. */
static void end_release(void *arg)
{
    (void)arg;
}

static void end(struct dp_linux *dp, const char *key, struct verbs_pinged *pinged)
{
    const struct aside_job aside = {.run = end_run, .release = end_release, .arg = pinged};
    if (pinged != NULL && aside_run(dp->aside, key, &aside, END_MS, NULL) != ERR_OK)
        return; /* it goes on without us */
}

static enum err_code job_new(const struct dp_port *port, const struct dp_peer *peers, size_t count,
                             struct job **out, struct err *err)
{
    struct linux_rdma rdma = {.device = ""};
    enum err_code code = linux_rdma_of(port, &rdma, err);
    if (code != ERR_OK)
        return code;
    struct job *job = calloc(1, sizeof(*job));
    if (job == NULL)
        return err_nomem(err);
    job->err = (struct err)ERR_INIT;
    job->count = count;
    text_copy(job->device, sizeof(job->device), rdma.device);
    for (size_t i = 0; i < count; i++) {
        text_copy(job->addresses[i], ADDRESS_SIZE, peers[i].address);
        job->peers[i].address = job->addresses[i];
    }
    text_copy(job->ifname, sizeof(job->ifname), port->ifname);
    job->family = strchr(peers[0].address, ':') == NULL ? AF_INET : AF_INET6;
    *out = job;
    return ERR_OK;
}

enum err_code linux_ping(struct dp *base, const char *subject, struct dp_peer *peers, size_t count,
                         int wait_ms, struct err *err)
{
    struct dp_linux *dp = (struct dp_linux *)base;
    const struct dp_port *port = NULL;
    struct job *job = NULL;
    char key[ASIDE_KEY_SIZE];
    linux_start_deadline(dp);
    if (count == 0 || count > VERBS_PING_MAX)
        return err_set(err, ERR_LIMIT, "from 1 to %d peers are asked at a time", VERBS_PING_MAX);
    enum err_code code = linux_port(dp, subject, &port, err);
    if (code == ERR_OK)
        code = job_new(port, peers, count, &job, err);
    if (code != ERR_OK)
        return code;
    job->wait_ms = wait_ms;
    snprintf(key, sizeof(key), "peers of %s", port->ifname);
    const struct aside_job aside = {.run = job_run, .release = job_release, .arg = job};
    code = aside_run(dp->aside, key, &aside, wait_ms + GRACE_MS, err);
    if (code != ERR_OK)
        return code;
    code = job->code;
    if (code != ERR_OK && err != NULL)
        *err = job->err;
    for (size_t i = 0; i < count && code == ERR_OK; i++) {
        peers[i].answered = job->peers[i].answered;
        text_copy(peers[i].why, sizeof(peers[i].why), job->peers[i].why);
    }
    end(dp, key, job->pinged);
    free(job);
    return code;
}
