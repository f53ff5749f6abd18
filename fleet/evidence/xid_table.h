#pragma once
/*
 * fleet/evidence/xid_table.h - the numbers of NVIDIA's Xid messages: what each means, whose fault
 * it mostly is, what to do. Private to fleet/evidence/.
 */

enum xid_fault {
    XID_APPLICATION = 0, /* the job's own error: the GPU stays in service */
    XID_RESET,           /* the GPU needs a reset: drain the node */
    XID_HARDWARE,        /* the GPU or its link is broken: out of service */
    XID_LINK,            /* NVLink or C2C */
    XID_DRIVER,          /* driver or firmware: collect a report */
    XID_NOTICE,          /* recorded, nothing to do at once */
};

struct xid {
    unsigned number;
    enum xid_fault fault;
    const char *meaning;
};

/* NULL = the list does not hold it. */
const struct xid *xid_find(unsigned number);
const char *xid_fault_name(enum xid_fault fault);
const char *xid_rule(enum xid_fault fault); /* the rule that reports it */
