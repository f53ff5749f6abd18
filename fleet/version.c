/*
 * fleet/version.c - see version.h.
 */
#include "fleet/version.h"

#include <string.h>
#include <strings.h>

#include "base/units.h"

struct version {
    char numbers[VERSION_TEXT_MAX + 1];
    bool is_early; /* a pre-release */
};

static bool is_early(const char *suffix)
{
    static const char *const words[] = {"rc", "alpha", "beta", "pre", "dev"};
    suffix += strspn(suffix, "-_.~");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strncasecmp(suffix, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

static bool says_nothing(const char *numbers)
{
    return strspn(numbers, "0.") == strlen(numbers) || strcmp(numbers, "255.255.65535") == 0;
}

/* Numbers of the first word; one that begins or goes on with letters ("0x80008e6a", "FFV22") is no
 * version that we know how to compare. */
static bool take_apart(const char *text, struct version *out)
{
    if (*text == 'v' || *text == 'V')
        text++;
    size_t len = strspn(text, "0123456789.");
    while (len > 0 && text[len - 1] == '.')
        len--;
    if (len == 0 || len > VERSION_TEXT_MAX)
        return false;
    char next = text[len];
    if (next != '\0' && strchr(" -+_~.,(", next) == NULL)
        return false;
    memcpy(out->numbers, text, len);
    out->numbers[len] = '\0';
    out->is_early = next != '\0' && next != ' ' && next != '(' && is_early(text + len);
    int order;
    return version_compare(out->numbers, "0", &order, NULL) == ERR_OK &&
           !says_nothing(out->numbers);
}

bool version_is_known(const char *text)
{
    struct version version;
    return take_apart(text, &version);
}

bool version_order(const char *a, const char *b, int *out)
{
    struct version x, y;
    int order;
    if (!take_apart(a, &x) || !take_apart(b, &y) ||
        version_compare(x.numbers, y.numbers, &order, NULL) != ERR_OK)
        return false;
    *out = order != 0 ? order : (int)y.is_early - (int)x.is_early;
    return true;
}
