#pragma once
/*
 * datapath/sys/host.h - what the host is and how its kernel is set, in the words of
 * schemas/inventory.json.
 */

#include <jansson.h>

#define HOST_MODULES_MAX 32
#define HOST_PARAMS_MAX  64 /* of a module */

/*
 * hostname, os, kernel, cpu, memory, thp, sysctl, modules, host. `drivers` are names of modules to
 * look at besides the usual ones, NULL-terminated; may be NULL. What is unknown is left out.
 * NULL = no memory.
 */
json_t *host_facts(const char *root, const char *const *drivers);
