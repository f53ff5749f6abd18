/*
 * datapath/sys/sysctl.c - kernel settings under /proc/sys; see sys.h.
 */
#include "datapath/sys/sys.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "/proc/sys/"

static bool component_is_valid(const char *begin, size_t len)
{
    if (len == 0 || (len == 1 && begin[0] == '.') || (len == 2 && memcmp(begin, "..", 2) == 0))
        return false;
    for (size_t i = 0; i < len; i++)
        if (begin[i] <= ' ' || begin[i] > '~' || begin[i] == '/')
            return false;
    return true;
}

enum err_code sysctl_path(const char *name, char *out, size_t size, struct err *err)
{
    size_t used = sizeof(PREFIX) - 1, len = strlen(name);
    if (len == 0 || len >= SYS_NAME_MAX || used + len >= size)
        return err_set(err, ERR_INVALID, "a sysctl name has 1 to %d bytes", SYS_NAME_MAX - 1);
    memcpy(out, PREFIX, used);
    for (const char *begin = name;; begin++) {
        size_t part = strcspn(begin, ".");
        if (!component_is_valid(begin, part))
            return err_set(err, ERR_INVALID, "\"%s\" is no sysctl name", name);
        memcpy(out + used, begin, part);
        used += part;
        begin += part;
        out[used] = *begin == '.' ? '/' : '\0';
        if (*begin == '\0')
            return ERR_OK;
        used++;
    }
}

/* Runs of blanks become one: "4096\t87380\t6291456" reads as it is written. */
static void squeeze(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        bool blank = *from == ' ' || *from == '\t';
        if (!blank || (to > text && to[-1] != ' '))
            *to++ = blank ? ' ' : *from;
    }
    *to = '\0';
}

enum err_code sysctl_get(const char *root, const char *name, char *out, size_t size,
                         struct err *err)
{
    char path[SYS_PATH_MAX];
    enum err_code code = sysctl_path(name, path, sizeof(path), err);
    if (code == ERR_OK)
        code = sys_read(root, path, out, size, err);
    if (code == ERR_OK)
        squeeze(out);
    return code;
}

enum err_code sysctl_set(const char *root, const char *name, const char *value, struct err *err)
{
    char path[SYS_PATH_MAX];
    enum err_code code = sysctl_path(name, path, sizeof(path), err);
    return code != ERR_OK ? code : sys_write(root, path, value, err);
}
