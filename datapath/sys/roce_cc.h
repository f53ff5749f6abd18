#pragma once
/*
 * datapath/sys/roce_cc.h - congestion control parameters of RoCE NICs. There is no common API: each
 * vendor has files of its own. A back-end is a row of a table: which drivers, which folder, and for
 * each name of fleet/roce_cc.h the file, its range and its unit. A new vendor is a row.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "fleet/roce_cc.h"

struct roce_cc_where {
    const char *root;   /* prefix of every path, "" outside tests */
    const char *driver; /* of the port: "mlx5_core" */
    const char *device; /* on its bus: "0000:3b:00.0" */
    const char *ifname;
    const char *rdma; /* RDMA device, "" = none */
    uint32_t rdma_port;
};

struct roce_cc_backend;
const char *roce_cc_backend_name(const struct roce_cc_backend *backend);

/* The back-end whose driver and folder are there. ERR_UNSUPPORTED names the driver and the folders
 * that were looked for. */
ERR_MUST_CHECK enum err_code roce_cc_find(const struct roce_cc_where *where,
                                          const struct roce_cc_backend **out, struct err *err);

/* Watches the files (sys_watch_trace()) that roce_cc_get() would read; asks no driver. */
void roce_cc_watch(const struct roce_cc_where *where);

/* What the device has of it, values 0: the names whose files are there. */
void roce_cc_probe(const struct roce_cc_backend *backend, const struct roce_cc_where *where,
                   struct roce_cc *out);
/* What the files hold. A file that is not there is a value that is not present; one that holds no
 * number is ERR_IO. */
ERR_MUST_CHECK enum err_code roce_cc_get(const struct roce_cc_backend *backend,
                                         const struct roce_cc_where *where, struct roce_cc *out,
                                         struct err *err);
/* Whether the device could take it: ERR_UNSUPPORTED names what it has not, ERR_INVALID what is out
 * of its range or no whole number of its unit. What `is` already holds passes. */
ERR_MUST_CHECK enum err_code roce_cc_check(const struct roce_cc_backend *backend,
                                           const struct roce_cc *is, const struct roce_cc *want,
                                           struct err *err);
/* Writes what differs. The caller reads back: some drivers ignore what their firmware says. */
ERR_MUST_CHECK enum err_code roce_cc_set(const struct roce_cc_backend *backend,
                                         const struct roce_cc_where *where,
                                         const struct roce_cc *want, struct err *err);
