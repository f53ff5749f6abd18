/*
 * fleet/campaign_settings.c - see campaign_settings.h.
 */
#include "fleet/campaign_settings.h"

#include <stdio.h>
#include <string.h>

#include "base/timestamp.h"
#include "fleet/read.h"
#include "fleet/rollout_policy.h"

#define DAYS          7
#define MINUTE_US     (INT64_C(60) * 1000000)
#define DAY_MIN       (24 * 60)
#define DAY_US        (DAY_MIN * MINUTE_US)
#define EPOCH_WEEKDAY 3 /* 1970-01-01 was a Thursday; Monday is 0 */
#define PERCENT_FULL  100
#define CLOCK_SIZE    8
#define ID_MAX        63
#define DEVICES_MAX   1024 /* named in a request */

static const char *const day_names[DAYS] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
static const char *const activate_names[] = {"none", "reload", "reboot", NULL};

void campaign_settings_init(struct campaign_settings *settings)
{
    *settings = (struct campaign_settings){
        .canary = 1,
        .percent = 25,
        .max_unavailable = 1,
        .activate = FLASH_ACTIVATE_NONE,
        .halt_on_aborted = true,
        .drain_timeout_ns = 600 * NS_PER_S,
        .deadline_ns = 3600 * NS_PER_S,
        .phase_deadline_ns = 900 * NS_PER_S,
    };
}

/* Windows ------------------------------------------------------------------------------------- */

static bool read_minute(const char *text, int *out)
{
    int hour, minute;
    char again[CLOCK_SIZE];
    if (strlen(text) != strlen("00:00") || sscanf(text, "%2d:%2d", &hour, &minute) != 2 ||
        hour < 0 || hour > 23 || minute < 0 || minute > 59)
        return false;
    snprintf(again, sizeof(again), "%02d:%02d", hour % 100, minute % 100);
    *out = hour * 60 + minute;
    return strcmp(again, text) == 0;
}

static unsigned read_days(struct json_reader *r, const json_t *list)
{
    unsigned days = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        size_t day = 0;
        while (day < DAYS && (name == NULL || strcmp(day_names[day], name) != 0))
            day++;
        if (day == DAYS)
            read_problem(r, "days", "element %zu is none of mon, tue, wed, thu, fri, sat, sun", i);
        days |= 1u << day;
    }
    if (json_array_size(list) == 0)
        read_problem(r, "days", "names no day");
    return days;
}

static void read_weekly(struct json_reader *r, const char *from, const char *until,
                        struct campaign_window *out)
{
    if (!read_minute(from, &out->from_min))
        read_problem(r, "from", "'%s' is no time of a day such as \"22:00\"", from);
    if (!read_minute(until, &out->until_min))
        read_problem(r, "until", "'%s' is no time of a day such as \"04:00\"", until);
}

static void read_once(struct json_reader *r, const char *from, const char *until,
                      struct campaign_window *out)
{
    bool both = true;
    if (!clock_parse(from, &out->from_us)) {
        read_problem(r, "from",
                     "'%s' is no time such as 2026-01-02T22:00:00Z; with \"days\" it is "
                     "\"22:00\"",
                     from);
        both = false;
    }
    if (!clock_parse(until, &out->until_us)) {
        read_problem(r, "until", "'%s' is no time such as 2026-01-03T04:00:00Z", until);
        both = false;
    }
    if (both && out->until_us <= out->from_us)
        read_problem(r, "until", "is not later than from");
}

static void read_window(struct json_reader *r, struct campaign_window *out)
{
    const char *from, *until;
    const json_t *days;
    *out = (struct campaign_window){.days = 0};
    bool weekly = json_reader_array(r, "days", false, DAYS, &days);
    bool times = json_reader_string(r, "from", true, 1, CLOCK_TEXT_MAX - 1, &from);
    times &= json_reader_string(r, "until", true, 1, CLOCK_TEXT_MAX - 1, &until);
    if (weekly)
        out->days = read_days(r, days);
    if (times && weekly)
        read_weekly(r, from, until, out);
    else if (times)
        read_once(r, from, until, out);
    json_reader_end(r);
}

static void read_windows(struct json_reader *r, struct campaign_settings *settings)
{
    const json_t *windows;
    if (!json_reader_array(r, "windows", false, CAMPAIGN_WINDOWS_MAX, &windows))
        return;
    settings->window_count = json_array_size(windows);
    for (size_t i = 0; i < settings->window_count; i++) {
        struct json_reader window;
        json_reader_element(r, "windows", i, json_array_get(windows, i), &window);
        read_window(&window, &settings->windows[i]);
    }
}

/* When the window opens that began on the day (days since the epoch), and how long it lasts. */
static bool opens_on(const struct campaign_window *window, int64_t day, int64_t *out_from_us,
                     int64_t *out_until_us)
{
    int64_t weekday = ((day + EPOCH_WEEKDAY) % DAYS + DAYS) % DAYS;
    if ((window->days & (1u << weekday)) == 0)
        return false;
    int lasts = window->until_min - window->from_min;
    *out_from_us = day * DAY_US + window->from_min * MINUTE_US;
    *out_until_us = *out_from_us + (lasts > 0 ? lasts : lasts + DAY_MIN) * MINUTE_US;
    return true;
}

static int64_t day_of(int64_t wall_us)
{
    return wall_us / DAY_US - (wall_us % DAY_US < 0);
}

/* When it is open next: at or before wall_us = now; -1 = never. */
static int64_t window_next(const struct campaign_window *window, int64_t wall_us)
{
    int64_t from, until, today = day_of(wall_us);
    if (window->days == 0)
        return window->until_us > wall_us ? window->from_us : -1;
    for (int64_t day = today - 1; day <= today + DAYS; day++)
        if (opens_on(window, day, &from, &until) && until > wall_us)
            return from;
    return -1;
}

int64_t campaign_window_next(const struct campaign_settings *settings, int64_t wall_us)
{
    int64_t next = settings->window_count == 0 ? 0 : -1;
    for (size_t i = 0; i < settings->window_count; i++) {
        int64_t from = window_next(&settings->windows[i], wall_us);
        if (from >= 0 && from <= wall_us)
            return 0;
        if (from >= 0 && (next < 0 || from < next))
            next = from;
    }
    return next;
}

bool campaign_window_is_open(const struct campaign_settings *settings, int64_t wall_us)
{
    return campaign_window_next(settings, wall_us) == 0;
}

static json_t *window_to_json(const struct campaign_window *window)
{
    char from[CLOCK_TEXT_MAX], until[CLOCK_TEXT_MAX];
    OWN(json) json_t *days = json_array();
    if (window->days == 0) {
        clock_format(window->from_us, from);
        clock_format(window->until_us, until);
        return json_pack("{ss, ss}", "from", from, "until", until);
    }
    for (size_t i = 0; i < DAYS; i++)
        if ((window->days & (1u << i)) &&
            json_array_append_new(days, json_string(day_names[i])) != 0)
            return NULL;
    snprintf(from, sizeof(from), "%02d:%02d", window->from_min / 60, window->from_min % 60);
    snprintf(until, sizeof(until), "%02d:%02d", window->until_min / 60, window->until_min % 60);
    return json_pack("{sO, ss, ss}", "days", days, "from", from, "until", until);
}

/* Settings ------------------------------------------------------------------------------------ */

static void read_seconds(struct json_reader *r, const char *key, const struct read_range *range,
                         int64_t *out_ns)
{
    read_duration(r, key, range, out_ns);
    if (*out_ns % NS_PER_S != 0)
        read_problem(r, key, "is whole seconds: agents count it in seconds");
}

void campaign_settings_read(struct json_reader *r, struct campaign_settings *settings)
{
    static const struct read_range timer = {CAMPAIGN_TIME_MIN_NS, CAMPAIGN_TIME_MAX_NS};
    static const struct read_range span = {0, CAMPAIGN_TIME_MAX_NS};
    int activate = (int)settings->activate;
    json_reader_int(r, "canary", false, 0, CAMPAIGN_CANARY_MAX, &settings->canary);
    json_reader_int(r, "percent", false, 1, PERCENT_FULL, &settings->percent);
    json_reader_int(r, "max_unavailable", false, 1, CAMPAIGN_UNAVAILABLE_MAX,
                    &settings->max_unavailable);
    json_reader_enum(r, "activate", false, activate_names, &activate);
    settings->activate = (enum flash_activate)activate;
    json_reader_bool(r, "halt_on_aborted", false, &settings->halt_on_aborted);
    json_reader_bool(r, "allow_downgrade", false, &settings->allow_downgrade);
    read_seconds(r, "drain_timeout", &span, &settings->drain_timeout_ns);
    read_seconds(r, "deadline", &timer, &settings->deadline_ns);
    read_duration(r, "phase_deadline", &timer, &settings->phase_deadline_ns);
    read_windows(r, settings);
}

bool campaign_settings_write(const struct campaign_settings *settings, json_t *object)
{
    OWN(json) json_t *windows = json_array();
    for (size_t i = 0; i < settings->window_count; i++)
        if (json_array_append_new(windows, window_to_json(&settings->windows[i])) != 0)
            return false;
    return write_member(object, "canary", json_integer(settings->canary)) &&
           write_member(object, "percent", json_integer(settings->percent)) &&
           write_member(object, "max_unavailable", json_integer(settings->max_unavailable)) &&
           write_member(object, "activate", json_string(activate_names[settings->activate])) &&
           write_member(object, "halt_on_aborted", json_boolean(settings->halt_on_aborted)) &&
           write_member(object, "allow_downgrade", json_boolean(settings->allow_downgrade)) &&
           write_duration(object, "drain_timeout", settings->drain_timeout_ns) &&
           write_duration(object, "deadline", settings->deadline_ns) &&
           write_duration(object, "phase_deadline", settings->phase_deadline_ns) &&
           write_member(object, "windows", json_incref(windows));
}

/* Requests ------------------------------------------------------------------------------------ */

static void read_devices(struct json_reader *r)
{
    const json_t *devices;
    if (!json_reader_array(r, "devices", false, DEVICES_MAX, &devices))
        return;
    if (json_array_size(devices) == 0)
        read_problem(r, "devices", "names no device");
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const char *text = json_string_value(json_array_get(devices, i));
        if (text == NULL || text[0] == '\0' || strlen(text) >= PORT_ID_SIZE)
            read_problem(r, "devices", "element %zu is no bus address such as 0000:3b:00.0", i);
    }
}

enum err_code campaign_request_from_json(const json_t *document, struct campaign_request *out,
                                         struct finding_list *findings, struct err *err)
{
    OWN_FINDINGS struct finding_list own;
    struct json_reader r;
    struct campaign_request read = {.image = "", .message = ""};
    bool all = false;
    finding_list_init(&own);
    campaign_settings_init(&read.settings);
    json_reader_init(&r, document, "", &own);
    json_reader_string(&r, "image", true, 1, ID_MAX, &read.image);
    int given = rollout_pick_read(&r) + (json_reader_bool(&r, "all", false, &all) && all);
    read_devices(&r);
    campaign_settings_read(&r, &read.settings);
    json_reader_string(&r, "message", false, 0, CAMPAIGN_MESSAGE_MAX, &read.message);
    json_reader_end(&r);
    if (given != 1 && !finding_list_has_errors(&own))
        read_problem(&r, NULL, "give one of nodes, selector and \"all\": true");
    enum err_code code = read_result(&own, err);
    if (findings != NULL)
        finding_list_append(findings, &own);
    if (code == ERR_OK)
        *out = read;
    return code;
}

bool campaign_request_has(const json_t *document, const struct view_node *node)
{
    return rollout_request_has(document, node);
}

bool campaign_request_has_device(const json_t *document, const char *device)
{
    const json_t *devices = json_object_get(document, "devices");
    for (size_t i = 0; i < json_array_size(devices); i++)
        if (strcmp(json_string_value(json_array_get(devices, i)), device) == 0)
            return true;
    return devices == NULL;
}
