/*
 * fleet/evidence/common.c - what several readers judge alike.
 */
#include "fleet/evidence/common.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/rules.h"
#include "fleet/version.h"

bool is_device_name(struct slice s)
{
    if (s.len == 0 || s.len > 63)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            strchr("_-.:@<>", c) == NULL)
            return false;
    }
    return true;
}

bool is_pci_address(struct slice s, char out[16])
{
    static const char shape[] = "hhhh:hh:hh.h";
    size_t skip = s.len == 7 ? 5 : 0;
    if (s.len != 12 && s.len != 7)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i], want = shape[i + skip];
        bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (want == 'h' ? !digit : c != want)
            return false;
    }
    memcpy(out, "0000:", 5);
    memcpy(out + skip, s.at, s.len);
    out[12] = '\0';
    for (size_t i = 0; i < 12; i++) {
        if (out[i] >= 'A' && out[i] <= 'F')
            out[i] = (char)(out[i] + 'a' - 'A');
    }
    return true;
}

/* The last long-term releases by the family that the first field names (NVIDIA's release notes):
 * versions of two families say nothing about each other. */
static const struct {
    const char *family, *minimum, *card;
} releases[] = {
    {"12.", "12.28.2006", "ConnectX-4"},
    {"14.", "14.32.1010", "ConnectX-4 Lx"},
    {"16.", "16.35.4030", "ConnectX-5"},
};

void put_firmware(struct evidence_job *job, size_t line, struct slice version)
{
    char text[VERSION_TEXT_MAX];
    slice_copy(version, text, sizeof(text));
    if (version.len > 0 && !version_is_known(text)) {
        put_unknown(job, line, "firmware");
        return;
    }
    put_text(job, line, "firmware", version);
    for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
        int order;
        if (strncmp(text, releases[i].family, 3) == 0 &&
            version_order(text, releases[i].minimum, &order) && order < 0)
            put_finding(job, line, RULE_FIRMWARE_OLD,
                        "Firmware %s is older than %s, the long-term release of %s", text,
                        releases[i].minimum, releases[i].card);
    }
}

/* "5: LinkUp" says LinkUp, "PORT_DOWN (1)" says DOWN. */
static bool says(struct slice text, const char *word)
{
    struct slice number, rest;
    if (slice_split(text, ':', &number, &rest))
        text = slice_trim(rest);
    (void)slice_skip(&text, "PORT_");
    text = slice_word(&text);
    return slice_is_nocase(text, word);
}

void judge_port(struct evidence_job *job, size_t line, struct slice state, struct slice physical)
{
    if (slice_is_unknown(state) || says(state, "ACTIVE") || says(state, "ACTIVE_DEFER"))
        return;
    if (says(physical, "Disabled"))
        put_finding(job, line, RULE_PORT_DISABLED, "The port is disabled");
    else if (says(physical, "Polling"))
        put_finding(job, line, RULE_PORT_POLLING,
                    "The port is polling: it is switched on and sees no peer");
    else
        put_finding(job, line, RULE_PORT_DOWN, "The port's state is %.*s%s%.*s", (int)state.len,
                    state.at, physical.len > 0 ? ", physically " : "", (int)physical.len,
                    physical.at);
}

static void judge_counter(struct evidence_job *job, size_t line, const struct counter *counter,
                          const struct number *number)
{
    bool full = counter->width > 0 && number->value == UINT64_MAX >> (64 - counter->width);
    if (counter->class == COUNTER_LINK_DOWN && (full || number->value >= LINK_DOWNS_MANY))
        put_finding(job, line, RULE_LINK_FLAPPING, "The link went down %s%s times",
                    full ? "at least " : "", number->text);
    /* At these counts a port is worth a look however old they are: the thresholds that
     * ibqueryerrors has when nobody gives it others. */
    static const struct {
        enum counter_class class;
        const char *rule;
        uint64_t many;
    } pasts[] = {
        {COUNTER_SYMBOL, RULE_SYMBOL_ERRORS, SYMBOLS_MANY},
        {COUNTER_IB_DISCARD, RULE_SEND_DISCARDS, 100},
        {COUNTER_RDMA_RETRY, RULE_RDMA_RETRIES, UINT64_MAX},
        {COUNTER_RDMA_LOSS, RULE_RDMA_LOSS, UINT64_MAX},
    };
    if (full && counter->class != COUNTER_LINK_DOWN)
        put_finding(job, line, RULE_COUNTER_FULL, "%s stands at %s, its largest value",
                    counter->name, number->text);
    for (size_t i = 0; i < sizeof(pasts) / sizeof(pasts[0]) && !full && number->value > 0; i++) {
        if (counter->class != pasts[i].class)
            continue;
        if (number->value >= pasts[i].many)
            put_finding(job, line, pasts[i].rule, "%s is %s", counter->name, number->text);
        else
            put_past(job, line, pasts[i].rule, "%s is %s", counter->name, number->text);
    }
}

bool put_rdma_counter(struct evidence_job *job, size_t line, struct slice name, struct slice value)
{
    struct counter counter;
    (void)put_counter(job, line, name, value, NULL);
    struct number number = number_read(value);
    if (counter_find(name, &counter) && number.is_unsigned)
        judge_counter(job, line, &counter, &number);
    return number.kind != NUMBER_NONE;
}

void judge_mtu(struct evidence_job *job, size_t line, uint64_t active, uint64_t max)
{
    if (active < 4096 && active < max)
        put_finding(job, line, RULE_RDMA_MTU_LOW,
                    "RDMA packets carry %llu bytes, the port could carry %llu",
                    (unsigned long long)active, (unsigned long long)max);
}

void netdev_subject(struct evidence_job *job, const char *const options[])
{
    char name[64];
    while (*options != NULL && !job_netdev(job, *options, name, sizeof(name)))
        options++;
    if (*options != NULL)
        job_subject(job, "netdev %s", name);
    else
        job_subject(job, "netdev");
}

bool netdev_headline(struct evidence_job *job, size_t i, const char *words)
{
    struct slice netdev;
    if (!slice_after(job_line(job, i), words, &netdev) || netdev.len == 0)
        return false;
    netdev.len -= slice_ends(netdev, ":") ? 1 : 0;
    job_subject(job, "netdev %.*s", (int)netdev.len, netdev.at);
    return true;
}

void fact_name(const char *prefix, struct slice key, const char *suffix,
               char out[EVIDENCE_NAME_MAX])
{
    size_t end = EVIDENCE_NAME_MAX - strlen(suffix) - 1;
    size_t n = (size_t)snprintf(out, EVIDENCE_NAME_MAX, "%.32s", prefix);
    bool gap = true;
    for (size_t k = 0; k < key.len && n + 2 < end; k++) {
        unsigned char c = (unsigned char)key.at[k];
        if (!isalnum(c)) {
            gap = true;
            continue;
        }
        if (gap)
            out[n++] = '_';
        out[n++] = (char)tolower(c);
        gap = false;
    }
    snprintf(out + n, EVIDENCE_NAME_MAX - n, "%s", suffix);
}

bool devlink_subject(struct evidence_job *job, struct slice handle)
{
    char bdf[16];
    struct slice address = handle, port = slice_of("");
    if (!slice_skip(&address, "pci/"))
        return false;
    (void)slice_split(address, '/', &address, &port);
    if (!is_pci_address(address, bdf))
        return false;
    if (port.len > 0)
        job_subject(job, "pci %s port %.*s", bdf, (int)port.len, port.at);
    else
        job_subject(job, "pci %s", bdf);
    return true;
}
