/*
 * base/units.c - see units.h. Decimals are kept as an integer and a power of ten, so that
 * "0.1Gbps" is exactly 100,000,000 bit/s.
 */
#include "base/units.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define QUOTE_MAX          48
#define SHARE_DECIMALS_MAX 2

__extension__ typedef unsigned __int128 wide;

/* value = digits / 10^decimals; trailing zeros after the point are dropped. */
struct decimal {
    uint64_t digits;
    unsigned decimals;
    unsigned written_decimals; /* as written, with trailing zeros */
    bool too_big;              /* more digits than 10^18: larger than any unit of ours allows */
};

struct unit {
    const char *name;
    uint64_t factor;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits ["." digits] and moves *at behind them; false when the grammar is broken. */
static bool decimal_read(const char **at, struct decimal *out)
{
    const char *p = *at;
    struct decimal d = {0};
    if (!is_digit(*p) || (p[0] == '0' && is_digit(p[1])))
        return false;
    unsigned zeros = 0; /* zeros seen after the point that may turn out to be trailing */
    bool point = false;
    for (; is_digit(*p) || *p == '.'; p++) {
        if (*p == '.') {
            if (point || !is_digit(p[1]))
                return false;
            point = true;
            continue;
        }
        d.written_decimals += point;
        if (point && *p == '0') {
            zeros++;
            continue;
        }
        for (unsigned i = 0; i <= (point ? zeros : 0) && !d.too_big; i++) {
            uint64_t digit = i == (point ? zeros : 0) ? (uint64_t)(*p - '0') : 0;
            d.too_big = d.digits > (UINT64_C(1000000000000000000) - digit) / 10;
            d.digits = d.digits * 10 + digit;
            d.decimals += point;
        }
        zeros = 0;
    }
    *at = p;
    *out = d;
    return true;
}

static const struct unit *unit_find(const struct unit *units, const char *name)
{
    for (; units->name != NULL; units++)
        if (strcmp(units->name, name) == 0)
            return units;
    return NULL;
}

/* d * factor when that is a whole number <= max and > 0. */
static bool scale(const struct decimal *d, uint64_t factor, uint64_t max, int64_t *out)
{
    wide value = (wide)d->digits * factor;
    for (unsigned i = 0; i < d->decimals; i++) {
        if (value % 10 != 0)
            return false;
        value /= 10;
    }
    if (value == 0 || value > max)
        return false;
    *out = (int64_t)value;
    return true;
}

/* What is wrong with it, behind its quoted text; NULL = nothing. */
static const char *read_share(const struct decimal *d, struct bandwidth *out)
{
    int64_t permyriad;
    if (d->written_decimals > SHARE_DECIMALS_MAX)
        return "has more than two decimals; shares go in steps of 0.01%";
    if (d->digits == 0 && !d->too_big)
        return "is zero, which many drivers take for \"no limit\"; the smallest share is 0.01%; "
               "leave the member out for none";
    if (d->too_big || !scale(d, 100, SHARE_PERMYRIAD_FULL, &permyriad))
        return "is more than the whole port; at most 100%";
    *out = (struct bandwidth){.kind = BANDWIDTH_SHARE, .share_permyriad = (int32_t)permyriad};
    return NULL;
}

static const char *read_rate(const struct decimal *d, uint64_t factor, struct bandwidth *out)
{
    int64_t rate;
    if (d->digits == 0 && !d->too_big)
        return "is zero, which many drivers take for \"no limit\"; the smallest rate is 1bps; "
               "leave the member out for none";
    if (d->too_big || !scale(d, factor, (uint64_t)RATE_BPS_MAX, &rate))
        return "is not a whole number of bits per second from 1bps to 1000000Gbps";
    *out = (struct bandwidth){.kind = BANDWIDTH_RATE, .rate_bps = rate};
    return NULL;
}

enum err_code bandwidth_parse(const char *text, struct bandwidth *out, struct err *err)
{
    static const struct unit units[] = {
        {"bps", 1},     {"Kbps", 1000},    {"Mbps", 1000000},    {"Gbps", 1000000000},
        {"Kbit", 1000}, {"Mbit", 1000000}, {"Gbit", 1000000000}, {NULL, 0},
    };
    const char *wrong = "is no bandwidth; write a share such as \"40%\" or a rate such as "
                        "\"90Gbps\" (bps, Kbps, Mbps, Gbps, Kbit, Mbit, Gbit), without blanks or "
                        "sign";
    const char *at = text;
    struct decimal d;
    if (decimal_read(&at, &d)) {
        const struct unit *unit = unit_find(units, at);
        if (strcmp(at, "%") == 0)
            wrong = read_share(&d, out);
        else if (unit != NULL)
            wrong = read_rate(&d, unit->factor, out);
    }
    if (wrong == NULL)
        return ERR_OK;
    char quoted[QUOTE_MAX];
    text_quote(text, strlen(text), quoted, sizeof(quoted));
    return err_set(err, ERR_INVALID, "'%s' %s", quoted, wrong);
}

/* value / 10^decimals without trailing zeros, followed by unit. */
static void format_decimal(int64_t value, unsigned decimals, const char *unit,
                           char out[BANDWIDTH_TEXT_MAX])
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uint64_t power = 1;
    for (; decimals > 0 && magnitude % 10 == 0; decimals--)
        magnitude /= 10;
    for (unsigned i = 0; i < decimals; i++)
        power *= 10;
    const char *sign = value < 0 ? "-" : "";
    if (decimals == 0)
        snprintf(out, BANDWIDTH_TEXT_MAX, "%s%llu%s", sign, (unsigned long long)magnitude, unit);
    else
        snprintf(out, BANDWIDTH_TEXT_MAX, "%s%llu.%0*llu%s", sign,
                 (unsigned long long)(magnitude / power), (int)decimals,
                 (unsigned long long)(magnitude % power), unit);
}

void rate_format(int64_t rate_bps, char out[BANDWIDTH_TEXT_MAX])
{
    static const struct {
        const char *name;
        unsigned decimals;
    } units[] = {{"bps", 0}, {"Kbps", 3}, {"Mbps", 6}, {"Gbps", 9}};
    /* The shortest; of two equally short the smaller unit, which has no point ("1500bps"). */
    format_decimal(rate_bps, 0, "bps", out);
    for (size_t i = 1; i < sizeof(units) / sizeof(units[0]); i++) {
        char text[BANDWIDTH_TEXT_MAX];
        format_decimal(rate_bps, units[i].decimals, units[i].name, text);
        if (strlen(text) < strlen(out))
            memcpy(out, text, sizeof(text));
    }
}

void share_format(int64_t share_permyriad, char out[BANDWIDTH_TEXT_MAX])
{
    format_decimal(share_permyriad, 2, "%", out);
}

void bandwidth_format(const struct bandwidth *bw, char out[BANDWIDTH_TEXT_MAX])
{
    out[0] = '\0';
    if (bw->kind == BANDWIDTH_SHARE)
        share_format(bw->share_permyriad, out);
    else if (bw->kind == BANDWIDTH_RATE)
        rate_format(bw->rate_bps, out);
}

int64_t bandwidth_on_port_bps(const struct bandwidth *bw, int64_t port_bps)
{
    if (bw->kind == BANDWIDTH_RATE)
        return bw->rate_bps;
    if (bw->kind != BANDWIDTH_SHARE || port_bps <= 0)
        return 0;
    return (int64_t)((wide)port_bps * (wide)bw->share_permyriad / SHARE_PERMYRIAD_FULL);
}

int64_t bandwidth_on_port_permyriad(const struct bandwidth *bw, int64_t port_bps)
{
    if (bw->kind == BANDWIDTH_SHARE)
        return bw->share_permyriad;
    if (bw->kind != BANDWIDTH_RATE || port_bps <= 0)
        return 0;
    wide scaled = (wide)bw->rate_bps * SHARE_PERMYRIAD_FULL;
    wide port = (wide)port_bps;
    wide share = scaled / port + (scaled % port != 0);
    return share > INT64_MAX ? INT64_MAX : (int64_t)share;
}

enum err_code size_parse(const char *text, int64_t *out_bytes, struct err *err)
{
    static const struct unit units[] = {
        {"B", 1},
        {"KB", 1000},
        {"MB", 1000000},
        {"GB", 1000000000},
        {"KiB", UINT64_C(1) << 10},
        {"MiB", UINT64_C(1) << 20},
        {"GiB", UINT64_C(1) << 30},
        {NULL, 0},
    };
    const char *at = text;
    struct decimal d;
    const struct unit *unit = decimal_read(&at, &d) ? unit_find(units, at) : NULL;
    if (unit != NULL && !d.too_big && scale(&d, unit->factor, SIZE_BYTES_MAX, out_bytes))
        return ERR_OK;
    char quoted[QUOTE_MAX];
    text_quote(text, strlen(text), quoted, sizeof(quoted));
    if (unit == NULL)
        return err_set(err, ERR_INVALID,
                       "'%s' is no size; write for example \"1MB\" or \"64KiB\" (B, KB, MB, GB, "
                       "KiB, MiB, GiB), without blanks or sign",
                       quoted);
    return err_set(err, ERR_INVALID, "'%s' is not a whole number of bytes from 1B to 1000000000GB",
                   quoted);
}

/* "1.22.333": digits in parts, none of them empty. */
static bool is_version(const char *text)
{
    for (const char *p = text;; p++) {
        if (!is_digit(*p))
            return false;
        while (is_digit(*p))
            p++;
        if (*p != '.')
            return *p == '\0';
    }
}

/* One part, as its digits without leading zeros; moves *at behind the part and its dot. */
static size_t version_part(const char **at, const char **digits)
{
    const char *p = *at;
    while (*p == '0')
        p++;
    *digits = p;
    while (is_digit(*p))
        p++;
    size_t len = (size_t)(p - *digits);
    *at = *p == '.' ? p + 1 : p;
    return len;
}

enum err_code version_compare(const char *a, const char *b, int *out, struct err *err)
{
    const char *wrong = !is_version(a) ? a : !is_version(b) ? b : NULL;
    if (wrong != NULL) {
        char quoted[QUOTE_MAX];
        text_quote(wrong, strlen(wrong), quoted, sizeof(quoted));
        return err_set(err, ERR_INVALID,
                       "'%s' is no version; only numbers with dots between them can be compared",
                       quoted);
    }
    int order = 0;
    while (order == 0 && (*a != '\0' || *b != '\0')) {
        const char *digits_a, *digits_b;
        size_t len_a = version_part(&a, &digits_a), len_b = version_part(&b, &digits_b);
        if (len_a != len_b)
            order = len_a < len_b ? -1 : 1;
        else
            order = memcmp(digits_a, digits_b, len_a);
    }
    *out = (order > 0) - (order < 0);
    return ERR_OK;
}
