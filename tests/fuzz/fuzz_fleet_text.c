/*
 * tests/fuzz/fuzz_fleet_text.c - up to three lines as the small texts of documents: versions are
 * ordered, networks and spans of time read back as they were written, names are names.
 */
#include "base/duration.h"
#include "fleet/firmware.h"
#include "fleet/ip_prefix.h"
#include "fleet/name.h"
#include "fleet/version.h"
#include "tests/fuzz/fuzz.h"

#define LINES 3

static void check_order(const char *a, const char *b)
{
    int there = 7, back = 7, same = 7;
    bool known = version_is_known(a) && version_is_known(b);
    must(version_order(a, b, &there) == known && version_order(b, a, &back) == known);
    if (known)
        must(there >= -1 && there <= 1 && there == -back);
    else
        must(there == 7 && back == 7);
    if (version_is_known(a))
        must(version_order(a, a, &same) && same == 0);
    enum firmware_verdict verdict = firmware_judge(a, b);
    must(verdict != FIRMWARE_COMPLIANT || (known && there >= 0));
    must(verdict != FIRMWARE_BELOW || (known && there < 0));
    must(firmware_judge(a, NULL) == FIRMWARE_NO_MINIMUM);
}

static void check_transitive(char *const lines[LINES])
{
    int ab, bc, ac;
    if (version_order(lines[0], lines[1], &ab) && version_order(lines[1], lines[2], &bc) &&
        version_order(lines[0], lines[2], &ac) && ab <= 0 && bc <= 0)
        must(ac <= 0 && (ab == 0 || ac != 0));
}

static void check_network(const char *text)
{
    struct ip_prefix prefix, back;
    char out[IP_PREFIX_TEXT_MAX];
    if (ip_prefix_parse(text, &prefix, NULL))
        return;
    must(prefix.prefix_len >= 0 && prefix.prefix_len <= 128 && ip_prefix_covers(&prefix, &prefix));
    ip_prefix_format(&prefix, true, out);
    must(ip_prefix_parse(out, &back, NULL) == ERR_OK && ip_prefix_covers(&prefix, &back) &&
         ip_prefix_covers(&back, &prefix));
}

static void check_line(const char *text)
{
    char out[DURATION_TEXT_MAX];
    int64_t time_ns, back_ns;
    struct err err = ERR_INIT;
    check_network(text);
    if (duration_parse(text, &time_ns)) {
        must(time_ns >= 0);
        duration_format(time_ns, out);
        must(duration_parse(out, &back_ns) && back_ns == time_ns);
    }
    if (name_check(text, "node", &err) == ERR_OK)
        must(strlen(text) < NAME_SIZE && strpbrk(text, "/ %\n") == NULL && name_is_valid(text));
    else
        must(err.text[0] != '\0' && !name_is_valid(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char nothing[] = "";
    char *text = text_of(data, size), *rest = text, *lines[LINES];
    for (size_t i = 0; i < LINES; i++) {
        char *line = strsep(&rest, "\n");
        lines[i] = line != NULL ? line : nothing;
        check_line(lines[i]);
    }
    check_order(lines[0], lines[1]);
    check_order(lines[1], lines[2]);
    check_transitive(lines);
    free(text);
    return 0;
}
