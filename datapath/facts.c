/*
 * datapath/facts.c - see facts.h.
 */
#include "datapath/facts.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "fleet/inventory.h"

/* Digits of one kind only, whatever stands between them. */
static bool is_all(const char *text, const char *digits)
{
    bool any = false;
    for (; *text != '\0'; text++) {
        if (!isalnum((unsigned char)*text))
            continue;
        if (strchr(digits, *text) == NULL)
            return false;
        any = true;
    }
    return any;
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcasecmp(text + len - end_len, end) == 0;
}

bool fact_is_placeholder(const char *text)
{
    static const char *const words[] = {"n/a",
                                        "na",
                                        "none",
                                        "null",
                                        "unknown",
                                        "not available",
                                        "not specified",
                                        "default string",
                                        "to be filled by o.e.m.",
                                        "255.255.65535",
                                        "65535.65535.65535"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    if (text[strspn(text, " \t")] == '\0' || is_all(text, "0"))
        return true;
    /* Device serial numbers of network cards are MAC addresses with ff-ff in the middle. */
    return (strlen(text) >= 8 && is_all(text, "fF")) || ends_with(text, "-ff-ff-00-00-00");
}

void fact_text(json_t *object, const char *key, const char *text)
{
    char copy[INVENTORY_TEXT_MAX];
    if (text == NULL)
        return;
    while (isspace((unsigned char)*text))
        text++;
    text_copy(copy, sizeof(copy), text);
    size_t len = strlen(copy);
    while (len > 0 && isspace((unsigned char)copy[len - 1]))
        copy[--len] = '\0';
    text_clean(copy, "");
    if (fact_is_placeholder(copy))
        return;
    json_object_set_new(object, key, json_string(copy));
}

void fact_int(json_t *object, const char *key, int64_t value, int64_t least)
{
    if (value >= least)
        json_object_set_new(object, key, json_integer(value));
}

void fact_bool(json_t *object, const char *key, bool value)
{
    json_object_set_new(object, key, json_boolean(value));
}

void fact_part(json_t *object, const char *key, json_t *value)
{
    if (json_object_size(value) > 0 || json_array_size(value) > 0)
        json_object_set(object, key, value);
    json_decref(value);
}

void fact_problem(json_t *problems, const char *subject, const char *text)
{
    if (problems != NULL)
        json_array_append_new(problems,
                              json_pack("{s:s,s:s}", "subject", subject, "problem", text));
}
