/*
 * fleet/clue.c - see clue.h.
 */
#include "fleet/clue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fleet/health.h"

#define BLOCK_SIZE 65536

struct block {
    struct block *next;
    size_t used;
    char data[BLOCK_SIZE];
};

struct clue_store {
    struct block *first;
};

enum err_code clues_new(clue_wanted_fn *wanted, const void *arg, struct clues **out,
                        struct err *err)
{
    OWN(clues) struct clues *clues = calloc(1, sizeof(*clues));
    if (clues == NULL)
        return err_nomem(err);
    clues->wanted = wanted;
    clues->wanted_arg = arg;
    clues->ports = calloc(INVENTORY_PORTS_MAX, sizeof(clues->ports[0]));
    clues->store = calloc(1, sizeof(*clues->store));
    if (clues->ports == NULL || clues->store == NULL)
        return err_nomem(err);
    *out = GIVE(clues);
    return ERR_OK;
}

void clues_free(struct clues *clues)
{
    if (clues == NULL)
        return;
    while (clues->store != NULL && clues->store->first != NULL) {
        struct block *next = clues->store->first->next;
        free(clues->store->first);
        clues->store->first = next;
    }
    free(clues->store);
    free(clues->ports);
    free(clues->items);
    free(clues);
}

/* At most CLUE_TEXT_MAX - 1 bytes, whole characters. */
static const char *keep(struct clues *clues, const char *text)
{
    struct block *block = clues->store->first;
    if (text == NULL || text[0] == '\0')
        return "";
    if (block == NULL || BLOCK_SIZE - block->used < CLUE_TEXT_MAX) {
        block = malloc(sizeof(*block));
        if (block == NULL) {
            clues->nomem = true;
            return "";
        }
        block->next = clues->store->first;
        block->used = 0;
        clues->store->first = block;
    }
    char *at = block->data + block->used;
    text_copy(at, CLUE_TEXT_MAX, text);
    block->used += strlen(at) + 1;
    return at;
}

static bool has_room(struct clues *clues)
{
    if (clues->count < clues->room)
        return true;
    if (clues->room >= CLUES_MAX) {
        clues->truncated = true;
        return false;
    }
    size_t room = clues->room == 0 ? 256 : 2 * clues->room;
    room = room > CLUES_MAX ? CLUES_MAX : room;
    struct clue *items = realloc(clues->items, room * sizeof(*items));
    if (items == NULL) {
        clues->nomem = true;
        return false;
    }
    clues->items = items;
    clues->room = room;
    return true;
}

void clues_add(struct clues *clues, const struct clue *clue)
{
    if (!clues->wanted(clues->wanted_arg, clue->name) || !has_room(clues))
        return;
    struct clue *to = &clues->items[clues->count];
    *to = *clue;
    to->source = keep(clues, clue->source);
    to->subject = keep(clues, clue->subject);
    to->name = keep(clues, clue->name);
    to->text = keep(clues, clue->text);
    to->unit = keep(clues, clue->unit);
    to->tool = keep(clues, clue->tool);
    clues->count++;
}

static int64_t times_1000(int64_t value)
{
    int64_t out;
    if (!__builtin_mul_overflow(value, 1000, &out))
        return out;
    return value > 0 ? INT64_MAX : INT64_MIN;
}

bool clue_milli(const char *text, int64_t *out)
{
    bool minus = text[0] == '-';
    const char *at = text + (minus || text[0] == '+');
    int64_t value = 0, scale = 100;
    bool any = false, over = false;
    for (; *at >= '0' && *at <= '9'; at++, any = true)
        over = over || __builtin_mul_overflow(value, 10, &value) ||
               __builtin_add_overflow(value, *at - '0', &value);
    over = over || __builtin_mul_overflow(value, 1000, &value);
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++, scale /= 10, any = true)
            over = over || __builtin_add_overflow(value, (*at - '0') * scale, &value);
    if (*at != '\0' || !any)
        return false;
    *out = over ? INT64_MAX : value;
    if (minus)
        *out = over ? INT64_MIN : -value;
    return true;
}

/* Telemetry ----------------------------------------------------------------------------------- */

static void subject_of(int kind, const char *device, uint32_t number, char out[CLUE_TEXT_MAX])
{
    if (kind == TELEMETRY_PRIORITY)
        snprintf(out, CLUE_TEXT_MAX, "port %s prio %u", device, number);
    else if (kind == TELEMETRY_RDMA)
        snprintf(out, CLUE_TEXT_MAX, "port %s/%u", device, number);
    else if (kind == TELEMETRY_QP)
        snprintf(out, CLUE_TEXT_MAX, "rdma %s qp %u", device, number);
    else
        snprintf(out, CLUE_TEXT_MAX, "%s%s%s", health_kind_name(kind), device[0] != '\0' ? " " : "",
                 device);
}

void clues_take_series(struct clues *clues, const struct clue_series *series)
{
    char subject[CLUE_TEXT_MAX], text[64];
    const struct telemetry_sum *sum = series->sum;
    bool gauge = series->name->course == TELEMETRY_GAUGE;
    subject_of((int)series->kind, series->device, series->number, subject);
    struct clue clue = {
        .kind = gauge ? CLUE_LEVEL : CLUE_COUNTED,
        .state = sum->weight == 0 ? CLUE_UNKNOWN : CLUE_KNOWN,
        .source = CLUE_FROM_TELEMETRY,
        .subject = subject,
        .name = series->name->text,
        .text = "",
    };
    if (sum->weight > 0) {
        clue.low = times_1000(gauge ? sum->min : sum->sum);
        clue.high = times_1000(gauge ? sum->max : sum->sum);
        if (gauge && sum->min != sum->max)
            snprintf(text, sizeof(text), "%" PRId64 " to %" PRId64, sum->min, sum->max);
        else
            snprintf(text, sizeof(text), "%" PRId64, gauge ? sum->max : sum->sum);
        clue.text = text;
    }
    clues_add(clues, &clue);
    if (gauge || (strcmp(clue.name, "rx_pause_duration") != 0 &&
                  strcmp(clue.name, "tx_pause_duration") != 0))
        return;
    clue.kind = CLUE_LEVEL;
    clue.name = clue.name[0] == 'r' ? "rx_pause_share" : "tx_pause_share";
    clue.unit = "permille of the time";
    if (sum->weight > 0) { /* microseconds of milliseconds */
        clue.low = clue.high = times_1000(sum->sum / sum->weight);
        snprintf(text, sizeof(text), "%" PRId64, sum->sum / sum->weight);
    }
    clues_add(clues, &clue);
}

/* Inventory ----------------------------------------------------------------------------------- */

static void add_text(struct clues *clues, const char *subject, const char *name, const char *text)
{
    const struct clue clue = {
        .kind = CLUE_TEXT,
        .state = text[0] == '\0' ? CLUE_UNKNOWN : CLUE_KNOWN,
        .source = CLUE_FROM_INVENTORY,
        .subject = subject,
        .name = name,
        .text = text,
    };
    clues_add(clues, &clue);
}

/* value -1 = unknown */
static void add_level(struct clues *clues, const char *subject, const char *name, int64_t value,
                      const char *unit)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRId64, value);
    const struct clue clue = {
        .kind = CLUE_LEVEL,
        .state = value < 0 ? CLUE_UNKNOWN : CLUE_KNOWN,
        .source = CLUE_FROM_INVENTORY,
        .subject = subject,
        .name = name,
        .text = value < 0 ? "" : text,
        .unit = unit,
        .low = times_1000(value),
        .high = times_1000(value),
    };
    clues_add(clues, &clue);
}

/* Percent of what the device could; -1 = unknown. */
static int64_t pcie_share(const struct pcie_link *link)
{
    int64_t share =
        health_pcie_share(link->current_gen, link->current_width, link->max_gen, link->max_width);
    return share == HEALTH_NONE || link->current_gen > link->max_gen ? -1 : share;
}

/* Hardware addresses of InfiniBand have 20 octets. */
static const char *link_layer(const struct port *port)
{
    size_t len = strlen(port->mac);
    return len == 17 ? "Ethernet" : len == 59 ? "InfiniBand" : "";
}

static void take_port(struct clues *clues, const struct port *port)
{
    char subject[CLUE_TEXT_MAX];
    struct clue_port *kept = &clues->ports[clues->port_count++];
    text_copy(kept->id, sizeof(kept->id), port->id);
    text_copy(kept->ifname, sizeof(kept->ifname), port->ifname);
    text_copy(kept->rdma, sizeof(kept->rdma), port->rdma_device);
    kept->is_software = port->rdma_software;
    snprintf(subject, sizeof(subject), "port %s", port->id);
    bool is_told = strcmp(port->link_state, "unknown") != 0;
    add_text(clues, subject, "link_state", is_told ? port->link_state : "");
    add_text(clues, subject, "link_layer", link_layer(port));
    add_level(clues, subject, "mtu_bytes", port->mtu_bytes, "bytes");
    add_level(clues, subject, "gid_index", port->gid_index, "");
    if (!port->rdma_software && !port->virtual_function)
        add_level(clues, subject, "pcie_share", pcie_share(&port->pcie), "percent");
}

void clues_take_inventory(struct clues *clues, const struct inventory *inventory)
{
    char subject[CLUE_TEXT_MAX];
    clues->has_inventory = true;
    clues->port_count = 0;
    for (size_t i = 0; i < inventory->port_count && clues->port_count < INVENTORY_PORTS_MAX; i++)
        if (inventory->ports[i].rdma_device[0] != '\0')
            take_port(clues, &inventory->ports[i]);
    for (size_t i = 0; i < inventory->gpu_count; i++) {
        struct pcie_link link = inventory->gpus[i].pcie;
        if (link.current_gen >= 1 && link.current_gen < link.max_gen)
            link.current_gen = link.max_gen; /* a GPU slows its link down when it idles */
        snprintf(subject, sizeof(subject), "gpu %s", inventory->gpus[i].id);
        add_level(clues, subject, "pcie_share", pcie_share(&link), "percent");
    }
}

/* Findings and files -------------------------------------------------------------------------- */

static void take_finding(struct clues *clues, const char *source, const struct finding *finding,
                         uint32_t line)
{
    bool unknown = finding->severity == FINDING_INFO && finding->observed != NULL &&
                   strcmp(finding->observed, "unknown") == 0;
    const struct clue clue = {
        .kind = CLUE_FINDING,
        .state = unknown ? CLUE_UNKNOWN : CLUE_KNOWN,
        .source = source,
        .subject = finding->subject,
        .name = finding->rule,
        .text = finding->message,
        .severity = finding->severity,
        .line = line,
    };
    clues_add(clues, &clue);
}

void clues_take_findings(struct clues *clues, const char *source, const struct finding_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        take_finding(clues, source, &list->items[i], 0);
    clues->truncated |= list->truncated;
    clues->nomem |= list->nomem;
}

void clues_take_chains(struct clues *clues, const struct chain_report *report)
{
    char subject[CLUE_TEXT_MAX];
    for (size_t i = 0; i < report->count; i++) {
        const struct chain *chain = &report->chains[i];
        snprintf(subject, sizeof(subject), "port %s %s", chain->subject, chain->source);
        const struct clue clue = {
            .kind = CLUE_TEXT,
            .state = chain->verdict == CHAIN_UNKNOWN ? CLUE_UNKNOWN : CLUE_KNOWN,
            .source = "chains",
            .subject = subject,
            .name = "chain",
            .text = chain_verdict_name(chain->verdict),
            .unit = chain->verdict == CHAIN_WHOLE ? "" : chain->why,
        };
        clues_add(clues, &clue);
    }
    clues->truncated |= report->truncated;
}

void clues_take_status(struct clues *clues, const struct health_status *status)
{
    char subject[CLUE_TEXT_MAX], text[CLUE_TEXT_MAX];
    const struct health_subject *about = &status->subject;
    const bool told = status->state != HEALTH_UNKNOWN;
    if (!told && about->device[0] == '\0' && about->kind != TELEMETRY_NODE)
        return;
    subject_of(about->kind, about->device, about->number, subject);
    snprintf(text, sizeof(text), "%" PRId64 " %s%s%s", status->value, status->rule->unit,
             status->state >= HEALTH_WARNING ? ": " : "",
             status->state >= HEALTH_WARNING ? status->rule->what : "");
    const struct clue clue = {
        .kind = CLUE_STATUS,
        .state = told ? CLUE_KNOWN : CLUE_UNKNOWN,
        .source = CLUE_FROM_RULES,
        .subject = subject,
        .name = status->rule->id,
        .text = told && status->value != HEALTH_NONE ? text : "",
        .severity = status->state >= HEALTH_WARNING ? health_severity(status->state) : FINDING_INFO,
    };
    clues_add(clues, &clue);
}

static void take_fact(struct clues *clues, const char *file, const struct evidence *evidence,
                      const struct evidence_fact *fact)
{
    struct clue clue = {
        .kind = fact->type == EVIDENCE_TEXT ? CLUE_TEXT : CLUE_FILE,
        .state = fact->state == EVIDENCE_UNKNOWN     ? CLUE_UNKNOWN
                 : fact->state == EVIDENCE_SATURATED ? CLUE_AT_LEAST
                                                     : CLUE_KNOWN,
        .source = file,
        .subject = fact->subject,
        .name = fact->name,
        .text = fact->value,
        .unit = fact->unit,
        .tool = evidence->sections[fact->section].tool,
        .line = fact->line,
    };
    if (clue.kind == CLUE_FILE && clue.state != CLUE_UNKNOWN) {
        if (!clue_milli(fact->value, &clue.low))
            clue.state = CLUE_UNKNOWN;
        clue.high = clue.low;
    }
    clues_add(clues, &clue);
}

static void take_section(struct clues *clues, const char *file,
                         const struct evidence_section *section)
{
    char name[64];
    snprintf(name, sizeof(name), "read.%s", section->kind);
    const struct clue clue = {
        .kind = CLUE_TEXT,
        .source = file,
        .subject = "",
        .name = name,
        .text = section->tool,
        .unit = "",
        .tool = section->tool,
        .line = section->first_line,
    };
    clues_add(clues, &clue);
}

void clues_take_evidence(struct clues *clues, const char *file, const struct evidence *evidence)
{
    for (size_t i = 0; i < evidence->section_count; i++)
        take_section(clues, file, &evidence->sections[i]);
    for (size_t i = 0; i < evidence->fact_count; i++)
        take_fact(clues, file, evidence, &evidence->facts[i]);
    for (size_t i = 0; i < evidence->findings.count; i++)
        take_finding(clues, file, &evidence->findings.items[i], evidence->proofs[i].first_line);
    clues->truncated |= evidence->truncated;
}

/* `word` stands in the subject between blanks, slashes or the ends. */
static bool has_word(const char *subject, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = subject; len > 0 && (at = strstr(at, word)) != NULL; at++) {
        bool starts = at == subject || at[-1] == ' ';
        char next = at[len];
        if (starts && (next == '\0' || next == ' ' || next == '/'))
            return true;
    }
    return false;
}

bool clue_is_about(const struct clue *clue, const struct clue_port *port)
{
    char address[PORT_ID_SIZE];
    snprintf(address, sizeof(address), "%s", port->id);
    char *slash = strchr(address, '/');
    if (slash != NULL)
        *slash = '\0';
    bool is_pci = strncmp(clue->subject, "pci", 3) == 0;
    return has_word(clue->subject, port->id) || has_word(clue->subject, port->ifname) ||
           has_word(clue->subject, port->rdma) || (is_pci && has_word(clue->subject, address));
}
