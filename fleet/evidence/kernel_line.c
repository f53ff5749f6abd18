/*
 * fleet/evidence/kernel_line.c - one line of a kernel log, however it was taken.
 */
#include "fleet/evidence/kernel_line.h"

#include <string.h>

#define STAMP_MAX          48 /* bytes between the brackets */
#define SECONDS_DIGITS_MAX 9  /* before the point: 31 years */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A month as any locale writes it ("Feb", "Okt", "M\xc3\xa4r"): dates have more to know them by. */
static bool is_word(struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c >= 0x80 || c == '.'))
            return false;
    }
    return s.len >= 3 && s.len <= 8;
}

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

static bool is_month(struct slice s)
{
    for (size_t i = 0; i < sizeof(months) / sizeof(months[0]); i++) {
        if (slice_is(s, months[i]))
            return true;
    }
    return false;
}

/* The form as a picture: 'd' is a digit, everything else stands for itself. */
static bool has_form(struct slice s, const char *form)
{
    size_t len = strlen(form);
    if (s.len < len)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (form[i] == 'd' ? !is_digit(s.at[i]) : s.at[i] != form[i])
            return false;
    }
    return true;
}

/* "12.345678", "+0.000012": seconds since boot. Ten digits are seconds since 1970, which programs
 * print ("[1688000000.123456] [node1:1234 :0] ... UCX  WARN"), the kernel never. */
static bool is_seconds(struct slice s)
{
    (void)slice_skip(&s, "+");
    size_t dots = 0, digits = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] == '.' && i > SECONDS_DIGITS_MAX)
            return false;
        dots += s.at[i] == '.';
        digits += is_digit(s.at[i]);
    }
    return dots == 1 && digits + 1 == s.len && digits >= 2 && is_digit(s.at[0]);
}

static bool is_iso(struct slice s)
{
    return has_form(s, "dddd-dd-ddTdd:dd:dd") || has_form(s, "dddd-dd-dd dd:dd:dd");
}

/* "2025-01-17T15:36:26,128279+00:00": a comma and microseconds are dmesg's own, so that no
 * program's name need follow. */
static bool is_dmesg_iso(struct slice s)
{
    return has_form(s, "dddd-dd-ddTdd:dd:dd,dddddd") && s.len >= 26 &&
           (s.len == 26 || s.at[26] == '+' || s.at[26] == '-' || s.at[26] == 'Z');
}

/* What stands between brackets is a time: seconds (also with a delta "<0.1>"), a date of -T, an ISO
 * date, or "Feb23 16:24" of -H. */
static bool is_stamp(struct slice s)
{
    struct slice first, rest = slice_trim(s);
    if (is_iso(rest) || is_seconds(rest))
        return true;
    first = slice_word(&rest);
    rest = slice_trim(rest);
    if (is_seconds(first))
        return slice_starts(rest, "<") || rest.len == 0;
    if (first.len == 5 && is_month((struct slice){.at = first.at, .len = 3}))
        return has_form(rest, "dd:dd");
    if (is_month(first)) /* "Feb 27 2025 15:10:02" of the fabric manager */
        return has_form(rest, "dd dddd dd:dd:dd");
    struct slice month = slice_word(&rest);
    return first.len == 3 && is_month(month) && slice_has(rest, ":");
}

/* "[ 12.345678] " off the front. */
static bool take_stamp(struct slice *line, struct slice *time)
{
    struct slice inside, rest;
    bool open = line->len > 0 && line->at[0] == '[';
    if (!slice_split(*line, ']', &inside, &rest) || inside.len > STAMP_MAX)
        return false;
    if (open) {
        inside.at++;
        inside.len--;
    }
    inside = slice_trim(inside);
    if (!(open ? is_stamp(inside) : is_seconds(inside)))
        return false;
    *time = inside;
    *line = slice_trim(rest);
    return true;
}

/* "[ T3491] ", "[   C12] ": who printed it. */
static void take_caller(struct slice *line)
{
    struct slice inside, rest;
    if (line->len == 0 || line->at[0] != '[' || !slice_split(*line, ']', &inside, &rest))
        return;
    inside = slice_trim((struct slice){.at = inside.at + 1, .len = inside.len - 1});
    uint64_t number;
    if (inside.len < 2 || (inside.at[0] != 'T' && inside.at[0] != 'C'))
        return;
    if (slice_uint((struct slice){.at = inside.at + 1, .len = inside.len - 1}, &number))
        *line = slice_trim(rest);
}

/* "kern  :warn  : " of dmesg -x. */
static bool take_level(struct slice *line)
{
    static const char *const facilities[] = {"kern", "user", "daemon", "syslog", "auth"};
    struct slice facility, rest, level;
    if (!slice_split(*line, ':', &facility, &rest) || facility.len > 8)
        return false;
    facility = slice_trim(facility);
    bool known = false;
    for (size_t i = 0; i < sizeof(facilities) / sizeof(facilities[0]); i++)
        known = known || slice_is(facility, facilities[i]);
    if (!known || !slice_split(rest, ':', &level, &rest) || level.len > 8)
        return false;
    *line = slice_trim(rest);
    return true;
}

/* "6,3973,227996636,-;" of /dev/kmsg: facility and level, sequence, microseconds, flags. */
static bool take_record(struct slice *line, bool *kernel)
{
    struct slice head, text, number;
    uint64_t level, value;
    if (!slice_split(*line, ';', &head, &text) || head.len > STAMP_MAX ||
        !slice_split(head, ',', &number, &head) || !slice_uint(number, &level) || level > 255 ||
        !slice_split(head, ',', &number, &head) || !slice_uint(number, &value) ||
        !slice_split(head, ',', &number, &head) || !slice_uint(number, &value) || head.len == 0)
        return false;
    *kernel = level < 8;
    *line = slice_trim(text);
    return true;
}

/* "<6>" of dmesg -r and of serial consoles. */
static void take_number(struct slice *line)
{
    struct slice before, rest;
    uint64_t level;
    if (!slice_starts(*line, "<") || !slice_split(*line, '>', &before, &rest))
        return;
    before = (struct slice){.at = before.at + 1, .len = before.len - 1};
    if (slice_uint(before, &level) && level < 256)
        *line = slice_trim(rest);
}

/* "2025-01-17T15:36:26,128279+00:00 " or "Feb 23 16:24:18 " off the front. */
static bool take_date(struct slice *line, struct slice *time)
{
    struct slice rest = *line, first = slice_word(&rest);
    if (has_form(first, "dddd-dd-ddTdd:dd:dd")) {
        *time = first;
        *line = slice_trim(rest);
        return true;
    }
    if (!is_word(first))
        return false;
    struct slice day = slice_word(&rest), clock = slice_word(&rest);
    if (day.len > 2 || day.len == 0 || !is_digit(day.at[0]) || !has_form(clock, "dd:dd:dd"))
        return false;
    *time = (struct slice){.at = line->at, .len = (size_t)(clock.at + clock.len - line->at)};
    *line = slice_trim(rest);
    return true;
}

/* "host kernel: " and "host systemd[1]: " behind a date. */
static bool take_program(struct slice *line, bool *kernel)
{
    struct slice rest = *line, host = slice_word(&rest), program = slice_word(&rest);
    if (slice_is(host, "kernel:")) { /* without a host */
        *kernel = true;
        size_t used = (size_t)(host.at + host.len - line->at);
        *line = slice_trim((struct slice){.at = line->at + used, .len = line->len - used});
        return true;
    }
    if (host.len == 0 || slice_ends(host, ":") || !slice_ends(program, ":"))
        return false;
    bool by_kernel = slice_is(program, "kernel:");
    if (!by_kernel && (!slice_ends(program, "]:") || !slice_has(program, "[")))
        return false; /* "[Hardware Error]: ..." is no program's */
    *kernel = by_kernel;
    *line = slice_trim(rest);
    return true;
}

bool ucx_message(struct slice line)
{
    struct slice stamp, where, rest;
    return slice_starts(line, "[") && slice_split(line, ']', &stamp, &rest) &&
           stamp.len <= STAMP_MAX && slice_has(stamp, ".") && slice_starts(slice_trim(rest), "[") &&
           slice_split(rest, ']', &where, &rest) && slice_has(where, ":") &&
           slice_has(rest, " UCX ");
}

bool kernel_line_read(struct slice line, struct kernel_line *out)
{
    struct slice rest = slice_trim(line), inner;
    *out = (struct kernel_line){.message = rest, .time = {.at = "", .len = 0}, .kernel = true};
    if (ucx_message(rest))
        return false;
    take_number(&rest);
    struct slice bare = rest;
    if (take_record(&rest, &out->kernel)) {
        take_caller(&rest);
        out->message = rest;
        return true;
    }
    if (slice_skip(&bare, "kernel: ")) {
        out->message = slice_trim(bare);
        return true;
    }
    bool level = take_level(&rest);
    bool stamp = take_stamp(&rest, &out->time);
    bool date = !stamp && take_date(&rest, &out->time);
    if (!level && !stamp && !date)
        return false;
    bool program = take_program(&rest, &out->kernel);
    if (date && !level && !program && !is_dmesg_iso(out->time))
        return false;
    if (stamp && !level && !program && is_iso(out->time) && slice_has(rest, " NCCL "))
        return false;
    inner = out->time;
    if (date && take_stamp(&rest, &inner)) /* "host kernel: [ 12.3] text" */
        out->time = inner;
    take_caller(&rest);
    out->message = rest;
    return true;
}
