/*
 * base/finding.c - see finding.h.
 */
#include "base/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define FINDING_TEXT_MAX 1024 /* bytes of a message made by finding_addf */

static void finding_clear(struct finding *finding)
{
    free(finding->subject);
    free(finding->pointer);
    free(finding->message);
    free(finding->observed);
    free(finding->limit);
    free(finding->hint);
    memset(finding, 0, sizeof(*finding));
}

/* Texts may quote bytes of the input; JSON can hold only UTF-8, so it is made so here, once. */
static bool copy_text(const char *text, char **out)
{
    if (text == NULL)
        return true;
    *out = strdup(text);
    if (*out == NULL)
        return false;
    text_sanitize(*out);
    return true;
}

static bool finding_copy(const struct finding *from, struct finding *to)
{
    memset(to, 0, sizeof(*to));
    to->rule = from->rule;
    to->severity = from->severity;
    if (copy_text(from->subject, &to->subject) && copy_text(from->pointer, &to->pointer) &&
        copy_text(from->message, &to->message) && copy_text(from->observed, &to->observed) &&
        copy_text(from->limit, &to->limit) && copy_text(from->hint, &to->hint))
        return true;
    finding_clear(to);
    return false;
}

void finding_list_init(struct finding_list *list)
{
    memset(list, 0, sizeof(*list));
}

void finding_list_release(struct finding_list *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->count; i++)
        finding_clear(&list->items[i]);
    free(list->items);
    finding_list_init(list);
}

static bool make_room(struct finding_list *list)
{
    if (list->count < list->capacity)
        return true;
    size_t capacity = list->capacity == 0 ? 8 : 2 * list->capacity;
    struct finding *items = realloc(list->items, capacity * sizeof(*items));
    if (items == NULL)
        return false;
    list->items = items;
    list->capacity = capacity;
    return true;
}

void finding_add(struct finding_list *list, const struct finding *finding)
{
    if (finding->severity > list->worst)
        list->worst = finding->severity;
    if (list->count >= FINDING_LIST_MAX) {
        list->truncated = true;
        return;
    }
    if (!make_room(list) || !finding_copy(finding, &list->items[list->count])) {
        list->nomem = true;
        return;
    }
    list->count++;
}

void finding_addf(struct finding_list *list, const char *rule, enum finding_severity severity,
                  const char *pointer, const char *fmt, ...)
{
    char text[FINDING_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n >= (int)sizeof(text))
        memcpy(text + sizeof(text) - 4, "...", 4);
    /* The cast is safe: finding_add() only reads. */
    struct finding finding = {
        .rule = rule, .severity = severity, .pointer = (char *)pointer, .message = text};
    finding_add(list, &finding);
}

void finding_list_append(struct finding_list *list, const struct finding_list *from)
{
    for (size_t i = 0; i < from->count; i++)
        finding_add(list, &from->items[i]);
    list->truncated |= from->truncated;
    list->nomem |= from->nomem;
    if (from->worst > list->worst)
        list->worst = from->worst;
}

bool finding_list_has_errors(const struct finding_list *list)
{
    return list->nomem || list->worst >= FINDING_ERROR;
}

const char *finding_severity_name(enum finding_severity severity)
{
    static const char *const names[] = {"info", "warning", "error", "critical"};
    if ((size_t)severity >= sizeof(names) / sizeof(names[0]))
        return "unknown";
    return names[severity];
}

json_t *finding_to_json(const struct finding *finding)
{
    const struct {
        const char *key, *text;
    } members[] = {
        {"rule", finding->rule},       {"severity", finding_severity_name(finding->severity)},
        {"subject", finding->subject}, {"pointer", finding->pointer},
        {"message", finding->message}, {"observed", finding->observed},
        {"limit", finding->limit},     {"hint", finding->hint},
    };
    OWN(json) json_t *object = json_object();
    if (object == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const char *text = members[i].text;
        /* "" is a pointer (the whole document), but no text. */
        if (text == NULL || (text[0] == '\0' && strcmp(members[i].key, "pointer") != 0))
            continue;
        if (json_object_set_new_nocheck(object, members[i].key, json_string(text)) != 0)
            return NULL;
    }
    return GIVE(object);
}

json_t *finding_list_to_json(const struct finding_list *list)
{
    OWN(json) json_t *array = json_array();
    if (array == NULL)
        return NULL;
    for (size_t i = 0; i < list->count; i++)
        if (json_array_append_new(array, finding_to_json(&list->items[i])) != 0)
            return NULL;
    return GIVE(array);
}
