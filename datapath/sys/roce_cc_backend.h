#pragma once
/*
 * datapath/sys/roce_cc_backend.h - the table of back-ends. Private to datapath/sys/roce_cc*.c.
 */

#include "datapath/sys/roce_cc.h"

#define ROCE_CC_DRIVERS_MAX 3

struct roce_cc_file {
    enum roce_cc_id id;
    const char *name; /* below the back-end's folder */
    int64_t min, max; /* in the file's own unit */
    int64_t unit;     /* what 1 in the file means */
};

struct roce_cc_backend {
    const char *name;
    const char *drivers[ROCE_CC_DRIVERS_MAX]; /* NULL-terminated when fewer */
    const char *folder;                       /* with {pci}, {if}, {rdma}, {port} */
    const char *make;      /* folder to make first: how configfs is asked; NULL = none */
    const char *make_root; /* there when `make` has a chance */
    const char *notify;    /* folder with a 0/1 file a priority; NULL = has no such masks */
    const char *react;
    const char *commit; /* takes 0x1 after the others; NULL = each file takes effect at once */
    bool hex;           /* older drivers read every number as hexadecimal */
    const struct roce_cc_file *files;
    size_t file_count;
};

/* Ends with name == NULL. The first row whose driver and folder are there is taken: where a
 * vendor's package is installed, its interface is the richer one. */
extern const struct roce_cc_backend roce_cc_backends[];
