/*
 * fleet/placement.c - see placement.h.
 */
#include "fleet/placement.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "fleet/read.h"

#define PORT_MAX 65535
#define DSCP_MAX 63

static void prefix_from_json(struct json_reader *r, const char *key, struct ip_prefix *out)
{
    struct err err = ERR_INIT;
    const char *text;
    if (json_reader_string(r, key, false, 1, IP_PREFIX_TEXT_MAX, &text) &&
        ip_prefix_parse(text, out, &err) != ERR_OK)
        read_problem(r, key, "%s", err.text);
}

static int optional_int(struct json_reader *r, const char *key, int64_t min, int64_t max)
{
    int64_t value = -1;
    json_reader_int(r, key, false, min, max, &value);
    return (int)value;
}

static void match_from_json(struct json_reader *r, struct flow_match *match)
{
    static const char *const protos[] = {"tcp", "udp", NULL};
    static const int numbers[] = {IPPROTO_TCP, IPPROTO_UDP};
    int proto = -1;
    prefix_from_json(r, "src", &match->src);
    prefix_from_json(r, "dst", &match->dst);
    if (json_reader_enum(r, "ip_proto", false, protos, &proto))
        match->ip_proto = numbers[proto];
    match->src_port = optional_int(r, "src_port", 1, PORT_MAX);
    match->dst_port = optional_int(r, "dst_port", 1, PORT_MAX);
    match->dscp = optional_int(r, "dscp", 0, DSCP_MAX);
    json_reader_end(r);
    if (match->ip_proto < 0 && match->src_port > 0)
        read_problem(r, "src_port", "a port needs \"ip_proto\"");
    if (match->ip_proto < 0 && match->dst_port > 0)
        read_problem(r, "dst_port", "a port needs \"ip_proto\"");
    if (match->src.family != 0 && match->dst.family != 0 && match->src.family != match->dst.family)
        read_problem(r, NULL, "\"src\" and \"dst\" are of different IP versions");
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* An array of texts into rows of `size` bytes, sorted; false without memory. */
static bool texts_from_json(struct json_reader *r, const char *key, size_t max, size_t size,
                            void **out, size_t *out_count)
{
    const json_t *array;
    if (!json_reader_array(r, key, false, max, &array) || json_array_size(array) == 0)
        return true;
    size_t count = json_array_size(array);
    char *rows = calloc(count, size);
    if (rows == NULL)
        return false;
    *out = rows;
    *out_count = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(array, i);
        size_t len = json_is_string(item) ? json_string_length(item) : 0;
        uint32_t hidden;
        if (len == 0 || len >= size || text_find_hidden(json_string_value(item), len, &hidden))
            read_problem(r, key, "element %zu of '%s' must be a text of 1 to %zu bytes", i, key,
                         size - 1);
        else
            memcpy(rows + i * size, json_string_value(item), len + 1);
    }
    qsort(rows, count, size, compare_text);
    for (size_t i = 1; i < count; i++)
        if (rows[i * size] != '\0' && strcmp(rows + (i - 1) * size, rows + i * size) == 0)
            read_problem(r, key, "'%s' holds '%s' twice", key, rows + i * size);
    return true;
}

static void selector_from_json(struct json_reader *r, struct placement *placement)
{
    const char *key;
    json_t *value;
    if (json_object_size(r->object) > LABELS_MAX) {
        read_problem(r, NULL, "the selector has %zu labels; at most %d",
                     json_object_size(r->object), LABELS_MAX);
        return;
    }
    json_object_foreach((json_t *)r->object, key, value)
    {
        struct err err = ERR_INIT;
        struct label_pair *pair = &placement->selector[placement->selector_count];
        if (name_check(key, "label", &err))
            read_problem(r, key, "%s", err.text);
        else if (!json_is_string(value))
            read_problem(r, key, "the value of label '%s' must be a text", key);
        else if (json_string_length(value) > 0 &&
                 name_check(json_string_value(value), "label value", &err))
            read_problem(r, key, "%s", err.text);
        else {
            snprintf(pair->key, sizeof(pair->key), "%s", key);
            snprintf(pair->value, sizeof(pair->value), "%s", json_string_value(value));
            placement->selector_count++;
        }
    }
    qsort(placement->selector, placement->selector_count, sizeof(placement->selector[0]),
          compare_text);
}

static bool root_from_json(const json_t *document, struct placement *placement,
                           struct finding_list *findings)
{
    struct json_reader r, sub;
    void *nodes = NULL, *ports = NULL;
    json_reader_init(&r, document, "", findings);
    bool memory = texts_from_json(&r, "nodes", PLACEMENT_NODES_MAX, NAME_SIZE, &nodes,
                                  &placement->node_count);
    placement->nodes = nodes;
    memory = memory && texts_from_json(&r, "ports", PLACEMENT_PORTS_MAX, PORT_ID_SIZE, &ports,
                                       &placement->port_count);
    placement->ports = ports;
    if (json_reader_object(&r, "selector", false, &sub))
        selector_from_json(&sub, placement);
    if (json_reader_object(&r, "match", false, &sub))
        match_from_json(&sub, &placement->match);
    json_reader_end(&r);
    for (size_t i = 0; i < placement->node_count; i++)
        if (placement->nodes[i][0] != '\0' && !name_is_valid(placement->nodes[i]))
            read_problem(&r, "nodes", "'%s' is no node's name", placement->nodes[i]);
    if (r.object != NULL && placement->node_count == 0 &&
        json_object_size(json_object_get(r.object, "selector")) == 0)
        read_problem(&r, NULL, "give \"nodes\" or \"selector\" (or both)");
    return memory;
}

enum err_code placement_from_json(const json_t *document, const char *tenant, const char *job,
                                  uint32_t label, struct placement **out,
                                  struct finding_list *findings, struct err *err)
{
    OWN_FINDINGS struct finding_list own;
    finding_list_init(&own);
    if (name_check(tenant, "tenant", err) || name_check(job, "job", err))
        return ERR_INVALID;
    OWN(placement) struct placement *placement = calloc(1, sizeof(*placement));
    if (placement == NULL)
        return err_nomem(err);
    snprintf(placement->tenant, sizeof(placement->tenant), "%s", tenant);
    snprintf(placement->job, sizeof(placement->job), "%s", job);
    placement->label = label;
    placement->match.ip_proto = placement->match.src_port = placement->match.dst_port = -1;
    placement->match.dscp = -1;
    if (!root_from_json(document, placement, &own))
        return err_nomem(err);
    if (findings != NULL)
        finding_list_append(findings, &own);
    enum err_code code = read_result(&own, err);
    if (code == ERR_OK)
        *out = GIVE(placement);
    return code;
}

static bool write_number(json_t *object, const char *key, int value)
{
    return value < 0 || write_member(object, key, json_integer(value));
}

static bool write_prefix(json_t *object, const char *key, const struct ip_prefix *prefix)
{
    char text[IP_PREFIX_TEXT_MAX];
    if (prefix->family == 0)
        return true;
    ip_prefix_format(prefix, false, text);
    return write_text(object, key, text);
}

static json_t *match_to_json(const struct flow_match *match)
{
    OWN(json) json_t *object = json_object();
    const char *proto = match->ip_proto == IPPROTO_TCP   ? "tcp"
                        : match->ip_proto == IPPROTO_UDP ? "udp"
                                                         : "";
    if (object == NULL || !write_prefix(object, "src", &match->src) ||
        !write_prefix(object, "dst", &match->dst) || !write_text(object, "ip_proto", proto) ||
        !write_number(object, "src_port", match->src_port) ||
        !write_number(object, "dst_port", match->dst_port) ||
        !write_number(object, "dscp", match->dscp))
        return NULL;
    return GIVE(object);
}

static json_t *texts_to_json(const char *rows, size_t count, size_t size)
{
    OWN(json) json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, json_string(rows + i * size)) != 0)
            return NULL;
    return GIVE(array);
}

static json_t *selector_to_json(const struct placement *placement)
{
    OWN(json) json_t *object = json_object();
    for (size_t i = 0; i < placement->selector_count; i++)
        if (!write_member(object, placement->selector[i].key,
                          json_string(placement->selector[i].value)))
            return NULL;
    return GIVE(object);
}

json_t *placement_to_json(const struct placement *placement)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL)
        return NULL;
    if (placement->node_count > 0 &&
        !write_member(object, "nodes",
                      texts_to_json(placement->nodes[0], placement->node_count, NAME_SIZE)))
        return NULL;
    if (placement->selector_count > 0 &&
        !write_member(object, "selector", selector_to_json(placement)))
        return NULL;
    if (placement->port_count > 0 &&
        !write_member(object, "ports",
                      texts_to_json(placement->ports[0], placement->port_count, PORT_ID_SIZE)))
        return NULL;
    OWN(json) json_t *match = match_to_json(&placement->match);
    if (match == NULL)
        return NULL;
    if (json_object_size(match) > 0 && !write_member(object, "match", json_incref(match)))
        return NULL;
    return GIVE(object);
}

bool placement_selects(const struct placement *placement, const json_t *labels)
{
    for (size_t i = 0; i < placement->selector_count; i++) {
        const struct label_pair *wanted = &placement->selector[i];
        const char *value = json_string_value(json_object_get(labels, wanted->key));
        if (value == NULL || strcmp(value, wanted->value) != 0)
            return false;
    }
    return placement->selector_count > 0;
}

void placement_free(struct placement *placement)
{
    if (placement == NULL)
        return;
    free(placement->nodes);
    free(placement->ports);
    free(placement);
}

static bool numbers_meet(int a, int b)
{
    return a < 0 || b < 0 || a == b;
}

static bool prefixes_meet(const struct ip_prefix *a, const struct ip_prefix *b)
{
    if (a->family == 0 || b->family == 0)
        return true;
    if (a->family != b->family)
        return false;
    int bits = a->prefix_len < b->prefix_len ? a->prefix_len : b->prefix_len;
    int bytes = bits / 8, rest = bits % 8;
    if (memcmp(a->addr, b->addr, (size_t)bytes) != 0)
        return false;
    return rest == 0 || ((a->addr[bytes] ^ b->addr[bytes]) >> (8 - rest)) == 0;
}

int flow_match_family(const struct flow_match *match)
{
    if (match->src.family != 0)
        return match->src.family;
    return match->dst.family != 0 ? match->dst.family : AF_INET;
}

bool flow_match_overlaps(const struct flow_match *a, const struct flow_match *b)
{
    return flow_match_family(a) == flow_match_family(b) && numbers_meet(a->dscp, b->dscp) &&
           numbers_meet(a->ip_proto, b->ip_proto) && numbers_meet(a->src_port, b->src_port) &&
           numbers_meet(a->dst_port, b->dst_port) && prefixes_meet(&a->src, &b->src) &&
           prefixes_meet(&a->dst, &b->dst);
}
