/*
 * datapath/flint.c - see flint.h. Tables of the words that tools use, from their public outputs:
 * tests/data/flash. A line is looked at by each table once.
 */
#include "datapath/flint.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define LINE_SIZE 512

/* "NAME value": the value's first word, from the first line that has one. */
static const struct field {
    const char *name;
    size_t offset, size;
} fields[] = {
#define FIELD(name, member)                                                                        \
    {                                                                                              \
        name, offsetof(struct flint, member), sizeof(((struct flint *)0)->member)                  \
    }
    FIELD("Current FW version on flash:", flash_version),
    FIELD("FW Version(Running):", running),
    FIELD("FW Version (Running):", running),
    FIELD("FW Version:", flash_version),
    FIELD("New FW version:", image_version),
    FIELD("PSID:", psid),
    FIELD("Image PSID:", image_psid),
#undef FIELD
};

/* Words anywhere in a line, in lower case. */
static const char *const failures[] = {
    "-e-",
    "fail :",
    "fail:",
    "failed",
    "error:",
    "kernel answers:",
    "devlink answers:",
    "mismatch",
    "not supported",
    "is wrong",
    "invalid image",
    "cannot open",
    "permission denied",
    "no such device",
    "no matching image",
    "no such file",
    "timeout",
    "timed out",
    "over 120000 ms",
    "aborting",
};

static const char *const begins[] = {
    "burning",     "writing",   "updating fw", "erasing", "flashing",
    "programming", "restoring", "burn fw ",    "fsmst_",
};

static const char *const resets[] = {
    "to load new fw", "restart needed",        "reboot",       "mlxfwreset",
    "power cycle",    "reset is required",     "cold reset",   "for the changes to take effect",
    "to take effect", "activate new firmware", "please reset",
};

static const char *const ends[] = {
    "- ok", "- done", " done", "100%", "successfully", "update completed", "burn finished",
};

static const char *const currents[] = {
    "up to date",       "already up-to-date",          "image is already",
    "no update needed", "no firmware update required", "the same as",
};

static bool has_any(const char *line, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(line, words[i]) != NULL)
            return true;
    return false;
}
#define HAS(line, words) has_any(line, words, sizeof(words) / sizeof((words)[0]))

static void take_field(const char *line, struct flint *out)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const struct field *field = &fields[i];
        if (strncmp(line, field->name, strlen(field->name)) != 0)
            continue;
        char *to = (char *)out + field->offset;
        const char *value = line + strlen(field->name);
        value += strspn(value, " \t");
        size_t len = strcspn(value, " \t,");
        if (to[0] == '\0' && len > 0 && len < field->size && strncmp(value, "N/A", 3) != 0)
            snprintf(to, field->size, "%.*s", (int)len, value);
        return;
    }
}

/* mlxfwmanager's table: "FW  22.32.0498  22.32.0498", what is there and what is offered. */
static void take_row(const char *line, struct flint *out)
{
    char now[FLASH_VERSION_SIZE], offered[FLASH_VERSION_SIZE];
    if (sscanf(line, "FW %63s %63s", now, offered) != 2 || !isdigit((unsigned char)now[0]))
        return;
    if (out->flash_version[0] == '\0')
        memcpy(out->flash_version, now, sizeof(now));
    if (out->image_version[0] == '\0' && isdigit((unsigned char)offered[0]))
        memcpy(out->image_version, offered, sizeof(offered));
}

/* "The PSID on flash (A) differs from the PSID in the given image (B)" */
static void take_mismatch(const char *line, struct flint *out)
{
    const char *a = strchr(line, '('), *b = a == NULL ? NULL : strchr(a + 1, '(');
    char first[PSID_SIZE], second[PSID_SIZE];
    if (strstr(line, "PSID") == NULL || b == NULL || sscanf(a, "(%63[^)])", first) != 1 ||
        sscanf(b, "(%63[^)])", second) != 1)
        return;
    memcpy(out->psid, first, sizeof(first));
    memcpy(out->image_psid, second, sizeof(second));
}

static int percent_of(const char *line)
{
    const char *sign = strchr(line, '%'), *at = sign;
    while (at != NULL && at > line && isdigit((unsigned char)at[-1]))
        at--;
    long percent = at == sign ? -1 : strtol(at, NULL, 10);
    return percent >= 0 && percent <= 100 ? (int)percent : -1;
}

/* What stands in the device's description, and "update required", are no words of the burning. */
static bool is_talk(const char *line)
{
    return strncmp(line, "description:", 12) == 0 || strstr(line, "update required") != NULL ||
           strstr(line, "requiring firmware update") != NULL;
}

static void take_line(const char *line, struct flint *out)
{
    char lower[LINE_SIZE];
    size_t len = 0;
    for (; line[len] != '\0'; len++)
        lower[len] = (char)tolower((unsigned char)line[len]);
    lower[len] = '\0';
    take_field(line, out);
    take_row(line, out);
    if (len == 0 || line[0] == '$' || is_talk(lower))
        return;
    if (HAS(lower, failures)) {
        /* The tool's own word is clearer than what the kernel's log said before it. */
        bool own = strstr(lower, "-e-") != NULL || strncmp(lower, "fail", 4) == 0;
        if (out->problem[0] == '\0' || own)
            text_quote(line, len, out->problem, sizeof(out->problem));
        take_mismatch(line, out);
        return;
    }
    int percent = percent_of(line);
    if (percent >= 0)
        out->percent = percent;
    out->begun = out->begun || HAS(lower, begins);
    out->done = out->done || (out->begun && HAS(lower, ends));
    out->current = out->current || HAS(lower, currents);
    out->needs_reset = out->needs_reset || HAS(lower, resets);
}

void flint_read(const char *text, size_t len, struct flint *out)
{
    *out = (struct flint){.percent = -1};
    while (len > 0) {
        /* Progress comes as lines that end with a carriage return or backspaces. */
        size_t n = 0;
        while (n < len && strchr("\r\n\b", text[n]) == NULL)
            n++;
        char line[LINE_SIZE];
        size_t from = 0, size = n < LINE_SIZE - 1 ? n : LINE_SIZE - 1;
        while (from < size && (text[from] == ' ' || text[from] == '\t'))
            from++;
        memcpy(line, text + from, size - from);
        line[size - from] = '\0';
        take_line(line, out);
        if (n == len)
            break;
        text += n + 1;
        len -= n + 1;
    }
}

enum flash_outcome flint_outcome(const struct flint *flint)
{
    if (flint->problem[0] != '\0')
        return flint->begun ? FLASH_FAILED : FLASH_ABORTED;
    if (flint->begun && (flint->done || flint->needs_reset))
        return FLASH_PENDING_RESET;
    if (flint->current && !flint->begun)
        return FLASH_SUCCESS;
    return FLASH_OPEN;
}
