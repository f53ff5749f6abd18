#pragma once
/*
 * datapath/sys/sys.h - what the host tells and takes as small files: /proc/sys, module parameters,
 * transparent huge pages, PCIe links. `root` is a prefix of every path ("" outside tests).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SYS_PATH_MAX  1024
#define SYS_VALUE_MAX 4096 /* bytes of a value that is read */
#define SYS_NAME_MAX  128

/* One attribute, blanks and newlines at both ends cut; what is no UTF-8 or cannot be seen, other
 * than blanks, reads as '?'. ERR_NOT_FOUND: no such file; ERR_LIMIT: it does not fit. */
ERR_MUST_CHECK enum err_code sys_read(const char *root, const char *path, char *out, size_t size,
                                      struct err *err);
ERR_MUST_CHECK enum err_code sys_write(const char *root, const char *path, const char *text,
                                       struct err *err);
/* The last component of a symbolic link's target; false = no link. */
bool sys_link_name(const char *root, const char *path, char *out, size_t size);
/* The first bytes of a file of any size, binary or not; *out_len of them, and a NUL behind them. */
ERR_MUST_CHECK enum err_code sys_read_head(const char *root, const char *path, char *out,
                                           size_t size, size_t *out_len, struct err *err);
bool sys_exists(const char *root, const char *path);
/* As if it was read, for sys_watch_trace(): what another thread is about to read. */
void sys_seen(const char *root, const char *path);
/* The names in a folder, sorted, without "." and ".."; none when it cannot be read. */
#define SYS_LIST_MAX 4096
struct sys_list {
    char **names; /* owned */
    size_t count;
    bool truncated; /* there are more than SYS_LIST_MAX, or memory is out */
};
void sys_list(const char *root, const char *path, struct sys_list *out);
void sys_list_release(struct sys_list *list);
#define OWN_SYS_LIST __attribute__((cleanup(sys_list_release)))
bool sys_is_writable(const char *root, const char *path); /* by mode: any write bit */
/* One folder below one that is there; that it is there already is fine. For configfs, where this
 * asks the kernel for an object: ERR_NOT_FOUND is its ENODEV or ENOENT. */
ERR_MUST_CHECK enum err_code sys_mkdir(const char *root, const char *path, struct err *err);
/* A name that can stand in a path by itself: not empty, no "/", not "." or "..", no blanks. */
bool sys_is_component(const char *name);
/* The whole text as one number, decimal or after 0x hexadecimal; false: it is none. */
bool sys_parse_int(const char *text, int64_t *out);

/* Sysctl: a dotted name ("net.solar.flow_steering"); "/", ".." and empty components are refused.
 * Runs of blanks in a value read as one. */
ERR_MUST_CHECK enum err_code sysctl_path(const char *name, char *out, size_t size, struct err *err);
ERR_MUST_CHECK enum err_code sysctl_get(const char *root, const char *name, char *out, size_t size,
                                        struct err *err);
ERR_MUST_CHECK enum err_code sysctl_set(const char *root, const char *name, const char *value,
                                        struct err *err);

/* Transparent huge pages: "always", "madvise", "never". */
ERR_MUST_CHECK enum err_code thp_get(const char *root, char *out, size_t size, struct err *err);
ERR_MUST_CHECK enum err_code thp_set(const char *root, const char *value, struct err *err);
/* The choice in brackets: "always [madvise] never" -> madvise. */
bool thp_choice(const char *text, char *out, size_t size);

/* PCIe link of a device folder ("/sys/class/net/X/device"); negative = unknown. */
struct pci_link {
    int current_gen, max_gen;     /* 1..6 */
    int current_width, max_width; /* lanes */
};
void pci_link_get(const char *root, const char *device, struct pci_link *out);
/* A virtual function: its PCIe link is its parent's. */
bool pci_is_virtual(const char *root, const char *device);
/* Whether the device that `folder` links to ("/sys/class/infiniband/X/device") has its firmware
 * from the same card as `device` ("0000:3b:00.0"): that one, another function of its card, or a
 * virtual function of these. */
bool pci_is_same_card(const char *root, const char *folder, const char *device);
int pci_gen_of_speed(const char *text); /* "16.0 GT/s PCIe" -> 4; -1 = unknown */
