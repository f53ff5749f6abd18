#pragma once
/*
 * datapath/sys/modparam.h - parameters of kernel modules: live under /sys/module, persisted as
 * "options MODULE PARAM=VALUE" in /etc/modprobe.d/stellar.conf.
 *
 * The file is ours but people may add lines: what is no line of ours is kept as it is. Beside a
 * parameter that was changed live we note what it was ("# was MODULE PARAM=VALUE"), so that
 * taking the persisted value away can give the live one back, also after a restart.
 */

#include "datapath/sys/sys.h"

#define MODPARAM_FILE       "/etc/modprobe.d/stellar.conf"
#define MODPARAM_FOLDER     "/etc/modprobe.d"
#define MODPARAM_FILE_MAX   (256 * 1024)
#define MODPARAM_FILES_MAX  256 /* in the folder; of more nobody here can say which value counts */
#define MODPARAM_VALUE_SIZE 256

struct modparam_name {
    char module[SYS_NAME_MAX]; /* with "_" for "-", as sysfs has it */
    char param[SYS_NAME_MAX];
};
/* "solar_rdma.max_sge". */
ERR_MUST_CHECK enum err_code modparam_parse(const char *id, struct modparam_name *out,
                                            struct err *err);

struct modparam_state {
    bool module_known; /* loaded, or its file is in the module folders */
    bool has_live;     /* loaded, and the parameter is there */
    bool live_writable;
    bool has_persisted; /* in our file */
    bool has_next;      /* in any file of the folder */
    bool next_is_ours;  /* and ours is the one that counts */
    char live[MODPARAM_VALUE_SIZE];
    char persisted[MODPARAM_VALUE_SIZE];
    char next[MODPARAM_VALUE_SIZE];
};
/* ERR_LIMIT over MODPARAM_FILES_MAX. */
ERR_MUST_CHECK enum err_code modparam_get(const char *root, const struct modparam_name *name,
                                          struct modparam_state *out, struct err *err);

/* Persists value, and sets it live where the parameter is writable. NULL takes our line away and
 * gives the noted live value back. */
ERR_MUST_CHECK enum err_code modparam_set(const char *root, const struct modparam_name *name,
                                          const char *value, struct err *err);

/*
 * Pure: the value that a modprobe.d text gives a parameter; the last one counts. False: none.
 * `keyword` is "options", or "# was" for our notes.
 */
bool modparam_find(const char *text, const char *keyword, const struct modparam_name *name,
                   char *out, size_t size);
/* Pure: the text with our line (and note, may be NULL) for the parameter set or (value NULL) gone;
 * all else as it was. malloc'ed; NULL = no memory. */
char *modparam_edit(const char *text, const struct modparam_name *name, const char *value,
                    const char *note);
