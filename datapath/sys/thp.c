/*
 * datapath/sys/thp.c - transparent huge pages; see sys.h.
 */
#include "datapath/sys/sys.h"

#include <string.h>

#define PATH "/sys/kernel/mm/transparent_hugepage/enabled"

bool thp_choice(const char *text, char *out, size_t size)
{
    const char *begin = strchr(text, '[');
    const char *end = begin == NULL ? NULL : strchr(begin, ']');
    if (end == NULL || end == begin + 1 || (size_t)(end - begin) > size)
        return false;
    size_t len = (size_t)(end - begin) - 1;
    memcpy(out, begin + 1, len);
    out[len] = '\0';
    return true;
}

enum err_code thp_get(const char *root, char *out, size_t size, struct err *err)
{
    char text[128];
    enum err_code code = sys_read(root, PATH, text, sizeof(text), err);
    if (code == ERR_OK && !thp_choice(text, out, size))
        code = err_set(err, ERR_IO, "%s holds \"%s\", no choice in brackets", PATH, text);
    return code;
}

enum err_code thp_set(const char *root, const char *value, struct err *err)
{
    return sys_write(root, PATH, value, err);
}
