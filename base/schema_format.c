/*
 * base/schema_format.c - the formats that the validator asserts; see schema_node.h.
 *
 * date-time, date, time (RFC 3339), ipv4, ipv6, hostname (RFC 1123), uuid and json-pointer are
 * checked. The other formats of the standard are annotations: they change nothing.
 */
#include "base/schema_node.h"

#include <arpa/inet.h>
#include <string.h>

#define HOSTNAME_MAX 253
#define LABEL_MAX    63

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* `count` digits at *text as a number, moved over; -1 when they are not there. */
static int take_digits(const char **text, const char *end, int count)
{
    int value = 0;
    if (end - *text < count)
        return -1;
    for (int i = 0; i < count; i++, (*text)++) {
        if (!is_digit(**text))
            return -1;
        value = value * 10 + (**text - '0');
    }
    return value;
}

static bool take_char(const char **text, const char *end, const char *allowed)
{
    if (*text >= end || **text == '\0' || strchr(allowed, **text) == NULL)
        return false;
    (*text)++;
    return true;
}

static bool take_date(const char **text, const char *end)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = take_digits(text, end, 4);
    if (year < 0 || !take_char(text, end, "-"))
        return false;
    int month = take_digits(text, end, 2);
    if (month < 1 || month > 12 || !take_char(text, end, "-"))
        return false;
    int day = take_digits(text, end, 2);
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

/* "Z" or "+hh:mm"; *minutes is what must be taken off to get UTC. */
static bool take_zone(const char **text, const char *end, int *minutes)
{
    if (take_char(text, end, "Zz")) {
        *minutes = 0;
        return true;
    }
    const char *sign = *text;
    if (!take_char(text, end, "+-"))
        return false;
    int hour = take_digits(text, end, 2);
    if (hour < 0 || hour > 23 || !take_char(text, end, ":"))
        return false;
    int minute = take_digits(text, end, 2);
    if (minute < 0 || minute > 59)
        return false;
    *minutes = (*sign == '-' ? -1 : 1) * (hour * 60 + minute);
    return true;
}

/* A 60th second exists only as a leap second, which ends a day in UTC. */
static bool take_time(const char **text, const char *end)
{
    int hour = take_digits(text, end, 2);
    if (hour < 0 || hour > 23 || !take_char(text, end, ":"))
        return false;
    int minute = take_digits(text, end, 2);
    if (minute < 0 || minute > 59 || !take_char(text, end, ":"))
        return false;
    int second = take_digits(text, end, 2);
    if (second < 0 || second > 60)
        return false;
    if (take_char(text, end, ".")) {
        if (take_digits(text, end, 1) < 0)
            return false;
        while (*text < end && is_digit(**text))
            (*text)++;
    }
    int zone;
    if (!take_zone(text, end, &zone))
        return false;
    int utc = ((hour * 60 + minute - zone) % 1440 + 1440) % 1440;
    return second < 60 || utc == 1439;
}

static bool is_date(const char *text, size_t len)
{
    const char *end = text + len;
    return take_date(&text, end) && text == end;
}

static bool is_time(const char *text, size_t len)
{
    const char *end = text + len;
    return take_time(&text, end) && text == end;
}

static bool is_date_time(const char *text, size_t len)
{
    const char *end = text + len;
    return take_date(&text, end) && take_char(&text, end, "Tt") && take_time(&text, end) &&
           text == end;
}

static bool is_address(int family, const char *text, size_t len)
{
    char copy[INET6_ADDRSTRLEN];
    unsigned char address[sizeof(struct in6_addr)];
    if (len >= sizeof(copy) || memchr(text, '\0', len) != NULL)
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return inet_pton(family, copy, address) == 1;
}

static bool is_ipv4(const char *text, size_t len)
{
    return is_address(AF_INET, text, len);
}

static bool is_ipv6(const char *text, size_t len)
{
    return is_address(AF_INET6, text, len);
}

static bool is_alnum(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hostname(const char *text, size_t len)
{
    size_t label = 0;
    if (len == 0 || len > HOSTNAME_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        bool last = i + 1 == len || text[i + 1] == '.';
        if (text[i] == '.') {
            if (label == 0 || last)
                return false;
            label = 0;
            continue;
        }
        bool hyphen = text[i] == '-' && label > 0 && !last;
        if ((!is_alnum(text[i]) && !hyphen) || ++label > LABEL_MAX)
            return false;
    }
    return true;
}

static bool is_uuid(const char *text, size_t len)
{
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    if (len != sizeof(shape) - 1)
        return false;
    for (size_t i = 0; i < len; i++) {
        bool hex = is_digit(text[i]) || (text[i] >= 'a' && text[i] <= 'f') ||
                   (text[i] >= 'A' && text[i] <= 'F');
        if (shape[i] == 'x' ? !hex : text[i] != '-')
            return false;
    }
    return true;
}

static bool is_json_pointer(const char *text, size_t len)
{
    if (len > 0 && text[0] != '/')
        return false;
    for (size_t i = 0; i < len; i++)
        if (text[i] == '~' && (i + 1 == len || (text[i + 1] != '0' && text[i + 1] != '1')))
            return false;
    return true;
}

schema_format_fn *schema_format_find(const char *name, bool *known)
{
    static const struct {
        const char *name;
        schema_format_fn *check;
    } formats[] = {
        {"date-time", is_date_time},
        {"date", is_date},
        {"time", is_time},
        {"ipv4", is_ipv4},
        {"ipv6", is_ipv6},
        {"hostname", is_hostname},
        {"uuid", is_uuid},
        {"json-pointer", is_json_pointer},
        {"duration", NULL},
        {"email", NULL},
        {"idn-email", NULL},
        {"idn-hostname", NULL},
        {"uri", NULL},
        {"uri-reference", NULL},
        {"iri", NULL},
        {"iri-reference", NULL},
        {"uri-template", NULL},
        {"relative-json-pointer", NULL},
        {"regex", NULL},
    };
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(name, formats[i].name) == 0) {
            *known = true;
            return formats[i].check;
        }
    }
    *known = false;
    return NULL;
}
