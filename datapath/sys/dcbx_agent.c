/*
 * datapath/sys/dcbx_agent.c - see dcbx_agent.h.
 */
#include "datapath/sys/dcbx_agent.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/own.h"
#include "datapath/sys/sys.h"

#define SOCKETS     "/proc/net/unix"
#define SOCKETS_MAX (16 * 1024 * 1024)
#define LLDPAD      "@/com/intel/lldpad"

bool dcbx_lldpad_runs(const char *root)
{
    char path[SYS_PATH_MAX];
    OWN(str) char *text = NULL;
    size_t len;
    int n = snprintf(path, sizeof(path), "%s" SOCKETS, root);
    if (n < 0 || (size_t)n >= sizeof(path) || file_read(path, SOCKETS_MAX, &text, &len, NULL))
        return false;
    for (const char *at = text; (at = strstr(at, LLDPAD)) != NULL; at += strlen(LLDPAD)) {
        char after = at[strlen(LLDPAD)];
        if (after == '\n' || after == '\0')
            return true;
    }
    return false;
}
