/*
 * fleet/name.c - see name.h. Names end up in URLs, file names, metric labels and kernel objects, so
 * the set is the part that is safe in all of them.
 */
#include "fleet/name.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_name_char(char c)
{
    return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.';
}

/* The first byte that may not stand where it stands; len when there is none. */
static size_t first_wrong(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (i == 0 ? !is_letter_or_digit(name[i]) : !is_name_char(name[i]))
            return i;
    return len;
}

bool name_is_valid(const char *name)
{
    size_t len = strnlen(name, NAME_SIZE);
    return len > 0 && len <= NAME_MAX_LEN && first_wrong(name, len) == len;
}

enum err_code name_check(const char *name, const char *what, struct err *err)
{
    if (name_is_valid(name))
        return ERR_OK;
    size_t len = strlen(name);
    if (len == 0)
        return err_set(err, ERR_INVALID, "the %s's name is empty; 1 to %d characters", what,
                       NAME_MAX_LEN);
    if (len > NAME_MAX_LEN)
        return err_set(err, ERR_INVALID, "the %s's name has %zu bytes; at most %d", what, len,
                       NAME_MAX_LEN);
    char quoted[96], wrong[32];
    size_t at = first_wrong(name, len);
    size_t char_len = utf8_decode(name + at, len - at, NULL);
    text_quote(name, len, quoted, sizeof(quoted));
    text_quote(name + at, char_len == 0 ? 1 : char_len, wrong, sizeof(wrong));
    return err_set(err, ERR_INVALID,
                   "the %s's name '%s' has '%s' at byte %zu; letters, digits, '_', '-' and '.', "
                   "starting with a letter or digit",
                   what, quoted, wrong, at + 1);
}
