/*
 * fleet/read.c - see read.h.
 */
#include "fleet/read.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"
#include "base/units.h"
#include "fleet/digest.h"

#define MICRO                  INT64_C(1000000)
#define QUOTE_SIZE_MIN         16
#define MICRO_DECIMALS         6
#define MICRO_WHOLE_DIGITS_MAX 3

static const struct finding *first_error(const struct finding_list *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].severity >= FINDING_ERROR)
            return &findings->items[i];
    return NULL;
}

enum err_code read_result(const struct finding_list *findings, struct err *err)
{
    if (findings->nomem)
        return err_nomem(err);
    if (findings->worst < FINDING_ERROR)
        return ERR_OK;
    const struct finding *first = first_error(findings);
    if (first == NULL)
        return err_set(err, ERR_INVALID, "the document is wrong in more places than are listed");
    return err_set_at(err, ERR_INVALID, first->pointer == NULL ? "" : first->pointer, "%s",
                      first->message == NULL ? "wrong" : first->message);
}

bool read_text(struct json_reader *r, const char *key, bool required, size_t min_len, char *out,
               size_t size)
{
    const char *text;
    out[0] = '\0';
    if (!json_reader_string(r, key, required, min_len, size - 1, &text))
        return false;
    text_copy(out, size, text);
    return true;
}

void read_name(struct json_reader *r, const char *key, bool required, char out[NAME_SIZE])
{
    struct err err = ERR_INIT;
    if (read_text(r, key, required, 1, out, NAME_SIZE) && name_check(out, key, &err))
        read_problem(r, key, "%s", err.text);
}

void read_address(struct json_reader *r, const char *key, char *out, size_t size)
{
    unsigned char bytes[16];
    if (read_text(r, key, true, 1, out, size) &&
        inet_pton(strchr(out, ':') == NULL ? AF_INET : AF_INET6, out, bytes) != 1)
        read_problem(r, key, "'%s' is no IPv4 or IPv6 address", out);
}

void read_duration(struct json_reader *r, const char *key, const struct read_range *range,
                   int64_t *out_ns)
{
    const char *text;
    char min[DURATION_TEXT_MAX], max[DURATION_TEXT_MAX];
    int64_t time_ns;
    if (!json_reader_string(r, key, false, 1, DURATION_TEXT_MAX - 1, &text))
        return;
    if (!duration_parse(text, &time_ns)) {
        read_problem(r, key, "'%s' is no time such as 500ms, 30s, 10m or 2h", text);
        return;
    }
    duration_format(range->min, min);
    duration_format(range->max, max);
    if (time_ns < range->min || time_ns > range->max)
        read_problem(r, key, "'%s' is not from %s to %s", text, min, max);
    else
        *out_ns = time_ns;
}

void read_problem(const struct json_reader *r, const char *key, const char *fmt, ...)
{
    char pointer[ERR_POINTER_MAX], text[ERR_TEXT_MAX];
    text_copy(pointer, sizeof(pointer), r->pointer);
    if (key != NULL)
        json_reader_pointer(r, key, pointer);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    finding_addf(r->findings, r->rule, FINDING_ERROR, pointer, "%s", text);
}

void read_digest(struct json_reader *r, const char *key, bool required, char out[DIGEST_TEXT_MAX])
{
    if (read_text(r, key, required, 1, out, DIGEST_TEXT_MAX) && !digest_is_valid(out))
        read_problem(r, key, "is no digest; \"sha256:\" and 64 hex digits");
}

bool write_member(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new_nocheck(object, key, value) == 0;
}

bool write_text(json_t *object, const char *key, const char *text)
{
    if (text[0] == '\0')
        return true;
    uint32_t hidden;
    if (!text_find_hidden(text, strlen(text), &hidden))
        return write_member(object, key, json_string(text));
    /* Not longer than the text itself, so that it fits into the field that it came from. */
    char quoted[ERR_TEXT_MAX];
    size_t len = strlen(text), size = len + 1 < QUOTE_SIZE_MIN ? QUOTE_SIZE_MIN : len + 1;
    text_quote(text, len, quoted, size < sizeof(quoted) ? size : sizeof(quoted));
    return write_member(object, key, json_string(quoted));
}

bool write_duration(json_t *object, const char *key, int64_t time_ns)
{
    char text[DURATION_TEXT_MAX];
    duration_format(time_ns, text);
    return write_member(object, key, json_string(text));
}

static bool micro_parse(const char *text, int64_t *out)
{
    size_t whole = strspn(text, "0123456789");
    if (whole == 0 || whole > MICRO_WHOLE_DIGITS_MAX || (whole > 1 && text[0] == '0'))
        return false;
    int64_t value = 0;
    for (size_t i = 0; i < whole; i++)
        value = 10 * value + (text[i] - '0');
    const char *decimals = text + whole;
    size_t count = 0;
    if (*decimals == '.') {
        decimals++;
        count = strspn(decimals, "0123456789");
        if (count == 0 || count > MICRO_DECIMALS)
            return false;
    }
    if (decimals[count] != '\0')
        return false;
    for (size_t i = 0; i < MICRO_DECIMALS; i++)
        value = 10 * value + (i < count ? decimals[i] - '0' : 0);
    *out = value;
    return true;
}

bool read_micro(struct json_reader *r, const char *key, bool required, int64_t *out)
{
    const char *text;
    if (!json_reader_string(r, key, required, 1, MICRO_WHOLE_DIGITS_MAX + 1 + MICRO_DECIMALS,
                            &text))
        return false;
    if (micro_parse(text, out))
        return true;
    read_problem(r, key, "'%s' must be decimal text from \"0\" to \"999.999999\" such as \"0.05\"",
                 key);
    return false;
}

void read_solar_cc(struct json_reader *r, struct solar_cc *out)
{
    out->has_eta = read_micro(r, "eta", false, &out->eta_micro);
    out->has_beta = read_micro(r, "beta", false, &out->beta_micro);
}

void write_micro(int64_t micro, char out[READ_MICRO_TEXT_MAX])
{
    snprintf(out, READ_MICRO_TEXT_MAX, "%lld.%06lld", (long long)(micro / MICRO),
             (long long)(micro % MICRO));
    size_t len = strlen(out);
    while (out[len - 1] == '0')
        out[--len] = '\0';
    if (out[len - 1] == '.')
        out[len - 1] = '\0';
}

json_t *write_solar_cc(const struct solar_cc *solar)
{
    OWN(json) json_t *object = json_object();
    char eta[READ_MICRO_TEXT_MAX], beta[READ_MICRO_TEXT_MAX];
    write_micro(solar->eta_micro, eta);
    write_micro(solar->beta_micro, beta);
    if (object == NULL || !write_text(object, "eta", solar->has_eta ? eta : "") ||
        !write_text(object, "beta", solar->has_beta ? beta : ""))
        return NULL;
    return GIVE(object);
}

void write_size(int64_t size_bytes, char out[READ_SIZE_TEXT_MAX])
{
    static const struct {
        const char *name;
        int64_t bytes;
    } units[] = {{"GiB", INT64_C(1) << 30},
                 {"GB", 1000000000},
                 {"MiB", INT64_C(1) << 20},
                 {"MB", 1000000},
                 {"KiB", 1024},
                 {"KB", 1000},
                 {"B", 1}};
    size_t i = 0;
    while (size_bytes % units[i].bytes != 0)
        i++;
    snprintf(out, READ_SIZE_TEXT_MAX, "%lld%s", (long long)(size_bytes / units[i].bytes),
             units[i].name);
}
