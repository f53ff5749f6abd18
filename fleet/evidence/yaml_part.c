/*
 * fleet/evidence/yaml_part.c - a YAML document among the lines of a file.
 *
 * libyaml keeps an alias as one node, so that a document of aliases of aliases stays as small as it
 * is written; it is not written out here either: an alias reads as an unknown scalar.
 */
#include "fleet/evidence/yaml_part.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "fleet/evidence/rules_logs.h"

/* Where the document ends, and how much it is. */
static size_t find_end(const struct evidence_job *job, size_t i, size_t *len)
{
    size_t end = i;
    *len = 0;
    for (; end < job->line_count; end++) {
        if (end > i && (slice_is(job_line(job, end), "---") ||
                        slice_is(job_line(job, end), "...") || job_is_prompt(job, end, NULL)))
            break;
        *len += job->lines[end].indent + job_line(job, end).len + 1;
    }
    return end;
}

/* Lines i to end as readers see them, with their indentation. */
static char *copy_lines(const struct evidence_job *job, size_t i, size_t end, size_t len)
{
    char *text = malloc(len + 1), *at = text;
    for (; text != NULL && i < end; i++) {
        struct slice line = job_line(job, i);
        if (line.len > 0) {
            memset(at, ' ', job->lines[i].indent);
            at += job->lines[i].indent;
            memcpy(at, line.at, line.len);
            at += line.len;
        }
        *at++ = '\n';
    }
    if (text != NULL)
        *at = '\0';
    return text;
}

/* libyaml puts what is empty at the end behind the last line. */
static size_t line_at(const struct yaml_part *part, size_t first, size_t line)
{
    return first + line < part->next ? first + line : part->next - 1;
}

struct build {
    yaml_document_t *document;
    struct yaml_part *part;
    size_t first; /* line */
    bool *used;   /* an alias comes a second time */
    bool failed;
};

static int add_node(struct build *b, int index, const char *key, int depth);

static void add_children(struct build *b, const yaml_node_t *from, int self, int depth)
{
    int last = -1;
    size_t count = from->type == YAML_MAPPING_NODE
                       ? (size_t)(from->data.mapping.pairs.top - from->data.mapping.pairs.start)
                       : (size_t)(from->data.sequence.items.top - from->data.sequence.items.start);
    for (size_t i = 0; i < count && !b->failed; i++) {
        const char *key = "";
        int value;
        if (from->type == YAML_MAPPING_NODE) {
            const yaml_node_pair_t *pair = &from->data.mapping.pairs.start[i];
            const yaml_node_t *name = yaml_document_get_node(b->document, pair->key);
            value = pair->value;
            if (name != NULL && name->type == YAML_SCALAR_NODE)
                key = (const char *)name->data.scalar.value;
        } else {
            value = from->data.sequence.items.start[i];
        }
        int child = add_node(b, value, key, depth + 1);
        if (child < 0)
            return;
        if (last < 0)
            b->part->nodes[self].child = child;
        else
            b->part->nodes[last].next = child;
        last = child;
    }
}

static int add_node(struct build *b, int index, const char *key, int depth)
{
    const yaml_node_t *from = yaml_document_get_node(b->document, index);
    if (from == NULL || b->part->count == YAML_NODES_MAX || depth > YAML_DEPTH_MAX) {
        b->failed = true;
        return -1;
    }
    int self = (int)b->part->count++;
    bool again = b->used[index];
    b->used[index] = true;
    b->part->nodes[self] =
        (struct yaml_node){.kind = YAML_SCALAR,
                           .key = key,
                           .text = "",
                           .line = line_at(b->part, b->first, from->start_mark.line),
                           .column = from->start_mark.column + 1,
                           .child = -1,
                           .next = -1};
    if (from->type == YAML_SCALAR_NODE) {
        b->part->nodes[self].text = (const char *)from->data.scalar.value;
        b->part->nodes[self].block = from->data.scalar.style == YAML_LITERAL_SCALAR_STYLE ||
                                     from->data.scalar.style == YAML_FOLDED_SCALAR_STYLE;
        b->part->nodes[self].quoted = from->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    } else if (!again) {
        b->part->nodes[self].kind = from->type == YAML_MAPPING_NODE ? YAML_MAP : YAML_LIST;
        add_children(b, from, self, depth);
    }
    return self;
}

static bool build_tree(struct evidence_job *job, size_t first, struct yaml_part *out)
{
    yaml_document_t *document = out->document;
    size_t count = (size_t)(document->nodes.top - document->nodes.start);
    out->nodes = calloc(YAML_NODES_MAX, sizeof(*out->nodes));
    struct build b = {
        .document = document, .part = out, .first = first, .used = calloc(count + 1, sizeof(bool))};
    if (out->nodes == NULL || b.used == NULL)
        job->nomem = true;
    else if (count > 0)
        (void)add_node(&b, 1, "", 0);
    free(b.used);
    out->root = out->nodes;
    return !b.failed && !job->nomem;
}

/* problem: NULL = it is too large. of_part: the line of the document where it shows, from 0. */
static void put_broken(struct evidence_job *job, size_t i, const struct yaml_part *part,
                       const char *problem, size_t of_part)
{
    size_t line = line_at(part, i, of_part);
    job_subject(job, "document");
    put_finding(job, line, RULE_DOCUMENT_BROKEN,
                "the document that begins at line %zu is no right YAML: %s at line %zu", i + 1,
                problem != NULL ? problem : "it is too large", line + 1);
}

/* libyaml looks through all anchors at each one, and through all open brackets at each token: what
 * has too many is found by its events, which end at the first that is too much. */
static const char *find_excess(yaml_parser_t *parser, size_t *out_line)
{
    size_t depth = 0, anchors = 0, events = 0;
    const char *excess = NULL;
    bool over = false;
    while (excess == NULL && !over) {
        yaml_event_t event;
        if (yaml_parser_parse(parser, &event) == 0)
            return NULL; /* the loader tells what is wrong */
        bool map = event.type == YAML_MAPPING_START_EVENT;
        bool list = event.type == YAML_SEQUENCE_START_EVENT;
        depth += map || list;
        depth -= event.type == YAML_MAPPING_END_EVENT || event.type == YAML_SEQUENCE_END_EVENT;
        anchors += (map && event.data.mapping_start.anchor != NULL) ||
                   (list && event.data.sequence_start.anchor != NULL) ||
                   (event.type == YAML_SCALAR_EVENT && event.data.scalar.anchor != NULL);
        over = event.type == YAML_DOCUMENT_END_EVENT || event.type == YAML_STREAM_END_EVENT;
        *out_line = event.start_mark.line;
        yaml_event_delete(&event);
        if (depth > YAML_DEPTH_MAX + 1)
            excess = "it nests too deep";
        else if (anchors > YAML_ANCHORS_MAX)
            excess = "it has too many anchors";
        else if (++events > YAML_EVENTS_MAX)
            excess = "it has too many nodes";
    }
    return excess;
}

/* True when libyaml may load it: false and the finding else. */
static bool is_bearable(struct evidence_job *job, size_t i, const struct yaml_part *part)
{
    yaml_parser_t parser;
    size_t line = 0;
    if (yaml_parser_initialize(&parser) == 0) {
        job->nomem = true;
        return false;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)part->text, strlen(part->text));
    const char *excess = find_excess(&parser, &line);
    yaml_parser_delete(&parser);
    if (excess != NULL)
        put_broken(job, i, part, excess, line);
    return excess == NULL;
}

static void load(struct evidence_job *job, size_t i, struct yaml_part *out)
{
    yaml_parser_t parser;
    if (!is_bearable(job, i, out))
        return;
    yaml_document_t *document = calloc(1, sizeof(*document));
    if (document == NULL || yaml_parser_initialize(&parser) == 0) {
        free(document);
        job->nomem = true;
        return;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)out->text, strlen(out->text));
    bool loaded = yaml_parser_load(&parser, document) != 0;
    if (loaded) {
        out->document = document;
        loaded = build_tree(job, i, out);
    } else {
        free(document);
    }
    if (!loaded) {
        put_broken(job, i, out, parser.problem, parser.problem_mark.line);
        out->count = 0;
    }
    yaml_parser_delete(&parser);
}

void yaml_part_read(struct evidence_job *job, size_t i, struct yaml_part *out)
{
    size_t len, end = find_end(job, i, &len);
    *out = (struct yaml_part){.next = end};
    if (len > YAML_BYTES_MAX) {
        put_broken(job, i, out, NULL, 0);
        return;
    }
    out->text = copy_lines(job, i, end, len);
    if (out->text == NULL)
        job->nomem = true;
    else
        load(job, i, out);
}

void yaml_part_release(struct yaml_part *part)
{
    if (part->document != NULL)
        yaml_document_delete(part->document);
    free(part->document);
    free(part->nodes);
    free(part->text);
    *part = (struct yaml_part){.count = 0};
}

const struct yaml_node *yaml_child(const struct yaml_part *part, const struct yaml_node *node)
{
    return node != NULL && node->child >= 0 ? &part->nodes[node->child] : NULL;
}

const struct yaml_node *yaml_next(const struct yaml_part *part, const struct yaml_node *node)
{
    return node->next >= 0 ? &part->nodes[node->next] : NULL;
}

const struct yaml_node *yaml_get(const struct yaml_part *part, const struct yaml_node *map,
                                 const char *key)
{
    if (map == NULL || map->kind != YAML_MAP)
        return NULL;
    for (const struct yaml_node *n = yaml_child(part, map); n != NULL; n = yaml_next(part, n)) {
        if (strcmp(n->key, key) == 0)
            return n;
    }
    return NULL;
}

const char *yaml_text(const struct yaml_part *part, const struct yaml_node *map, const char *key)
{
    const struct yaml_node *node = yaml_get(part, map, key);
    return node != NULL && node->kind == YAML_SCALAR ? node->text : NULL;
}
