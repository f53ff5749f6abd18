#pragma once
/*
 * fleet/compile_job.h - private to fleet/compile*.c: the plan that is being made and its parts.
 */

#include "fleet/plan.h"
#include "fleet/site.h"

#define LABEL_MAX 65533 /* class minors fffe and ffff are the parent and the default class */

struct compile {
    const struct view *view;
    const struct view_node *node;
    const struct site *site; /* the port at work; NULL for the host */
    struct plan *plan;
    struct finding_list *findings;
    json_t *app, *buffer, *pfc; /* owned; the same on every port, made for the first */
    enum err_code code;         /* sticky: of the first failure */
    struct err *err;
};

/* A knob on the current port, or on "host"; takes want over. `job` (may be NULL) is whose it is. */
struct compile_knob {
    const char *kind;
    const char *subject; /* NULL = the current port, or the host */
    const char *id;      /* NULL = "" */
    json_t *want;
    enum enforcement enforcement;
    bool strict;
    const struct site_job *job;
};
void compile_add(struct compile *c, const struct compile_knob *knob);

/* What the current port, or the node, cannot take: a warning finding of rule "knob-unsupported". */
void compile_leave_out(struct compile *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

void compile_dcb(struct compile *c);      /* compile_dcb.c: trust, ETS, rates, buffers, PFC */
void compile_pause(struct compile *c);    /* compile_link.c: no pause frames of the whole link */
void compile_coalesce(struct compile *c); /* compile_link.c: when it interrupts */
void compile_arp(struct compile *c);      /* compile_link.c: several ports in one subnet */
void compile_tos(struct compile *c);      /* compile_roce.c: type of service */
void compile_cc(struct compile *c);       /* compile_roce.c: congestion control */
void compile_device(struct compile *c);   /* compile_device.c: parameters of drivers */
void compile_rates(struct compile *c, const struct site_index *index); /* virtual functions */
void compile_tc(struct compile *c); /* compile_tc.c: scheduler and filters */
/* compile_sched.c: bands instead of classes, and queues that mark. */
void compile_bands(struct compile *c);
void compile_red(struct compile *c, const char *parent, const struct site_job *job);
/* compile_tc.c: a filter that sends the job's packets to a class of the scheduler. */
void compile_classifier(struct compile *c, const struct site_job *job, const char *id);
void compile_page(struct compile *c); /* compile_solar.c: the control page of Solar-RDMA */
void compile_host(struct compile *c); /* compile_host.c: modules, sysctls, huge pages */
void compile_nccl(struct compile *c); /* compile_nccl.c: the environment of jobs */

/* The share of each traffic class; see compile_dcb.c. Exposed for its tests. */
struct ets_class {
    bool used, strict;
    int64_t wanted_permyriad; /* guaranteed: may add up to more than 10000 */
    int weight;
};
/* The profile's classes with what the current port's jobs were promised, and each priority's. */
void compile_classes(const struct compile *c, struct ets_class classes[TC_COUNT],
                     int prio_tc[PRIORITY_COUNT]);
void compile_ets_shares(const struct ets_class classes[TC_COUNT], int out_percent[TC_COUNT]);
