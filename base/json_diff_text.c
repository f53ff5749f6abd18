/*
 * base/json_diff_text.c - two documents -> unified text; see json_diff.h. The shortest script comes
 * from E. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), section 4.
 */
#include "base/json_diff.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"

#define CONTEXT 3
#define INDENT  2

struct lines {
    char *text;  /* owned; its newlines are NULs */
    char **list; /* owned */
    size_t count;
};

struct edit {
    char kind; /* ' ', '-', '+' */
    const char *line;
};

struct script {
    struct lines a, b;
    struct edit *edits; /* owned */
    size_t count;
    int *trace; /* owned: for each d, the furthest x on diagonals -d..d before that step */
};

static void newline(FILE *out, int depth)
{
    fprintf(out, "\n%*s", depth * INDENT, "");
}

/* The canonical text with newlines and blanks between its tokens. */
static void indent(FILE *out, const char *text)
{
    int depth = 0;
    bool in_string = false;
    for (const char *p = text; *p != '\0'; p++) {
        bool opens = *p == '{' || *p == '[', closes = *p == '}' || *p == ']';
        if (in_string || *p == '"') {
            if (*p == '\\')
                fputc(*p++, out);
            else if (*p == '"')
                in_string = !in_string;
            fputc(*p, out);
            continue;
        }
        if (closes && p[-1] != (*p == '}' ? '{' : '['))
            newline(out, depth - 1);
        fputc(*p, out);
        depth += opens - closes;
        if ((opens && p[1] != '}' && p[1] != ']') || *p == ',')
            newline(out, depth);
        else if (*p == ':')
            fputc(' ', out);
    }
    fputc('\n', out);
}

char *json_pretty(const json_t *value)
{
    OWN(str) char *text = json_canonical(value, NULL);
    char *pretty = NULL;
    size_t len = 0;
    FILE *out = text == NULL ? NULL : open_memstream(&pretty, &len);
    if (out == NULL)
        return NULL;
    indent(out, text);
    if (fclose(out) != 0) {
        free(pretty);
        return NULL;
    }
    return pretty;
}

static bool lines_split(const json_t *value, struct lines *out)
{
    size_t count = 0;
    out->text = json_pretty(value);
    for (const char *p = out->text; p != NULL && *p != '\0'; p++)
        count += *p == '\n';
    out->list = calloc(count + 1, sizeof(*out->list));
    if (out->text == NULL || out->list == NULL)
        return false;
    for (char *line = out->text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        out->list[out->count++] = line;
    }
    return true;
}

static void push(struct script *s, char kind, const char *line)
{
    s->edits[s->count++] = (struct edit){.kind = kind, .line = line};
}

/* The row of step d in the trace: rows of 1, 3, 5, ... cells follow each other. */
static int *row(const struct script *s, int d)
{
    return s->trace + (size_t)d * (size_t)d + (size_t)d;
}

/* Length of the shortest script between a[0..n) and b[0..m), or -1 when it is over the maximum. */
static int search(struct script *s, char **a, char **b, int n, int m)
{
    for (int d = 0; d <= JSON_DIFF_EDITS_MAX; d++) {
        int *now = row(s, d), *before = d == 0 ? NULL : row(s, d - 1);
        for (int k = -d; k <= d; k += 2) {
            int x = 0;
            if (d > 0 && (k == -d || (k != d && before[k - 1] < before[k + 1])))
                x = before[k + 1];
            else if (d > 0)
                x = before[k - 1] + 1;
            int y = x - k;
            while (x < n && y < m && y >= 0 && strcmp(a[x], b[y]) == 0) {
                x++;
                y++;
            }
            now[k] = x;
            if (x >= n && y >= m)
                return d;
        }
    }
    return -1;
}

/* Walks the trace back; edits come out last first and are turned round. */
static void backtrack(struct script *s, char **a, char **b, int x, int y, int d)
{
    size_t first = s->count;
    for (; d > 0; d--) {
        const int *before = row(s, d - 1);
        int k = x - y;
        bool down = k == -d || (k != d && before[k - 1] < before[k + 1]);
        int from_x = down ? before[k + 1] : before[k - 1];
        while (x > from_x + !down) {
            push(s, ' ', a[--x]);
            y--;
        }
        if (down)
            push(s, '+', b[--y]);
        else
            push(s, '-', a[--x]);
    }
    while (x > 0 && y > 0) {
        push(s, ' ', a[--x]);
        y--;
    }
    for (size_t i = first, j = s->count; i + 1 < j; i++) {
        struct edit kept = s->edits[i];
        s->edits[i] = s->edits[--j];
        s->edits[j] = kept;
    }
}

static bool make_script(struct script *s)
{
    size_t n = s->a.count, m = s->b.count, first = 0;
    size_t cells = ((size_t)JSON_DIFF_EDITS_MAX + 1) * (JSON_DIFF_EDITS_MAX + 1);
    s->edits = calloc(n + m + 1, sizeof(*s->edits));
    if (s->edits == NULL)
        return false;
    for (; first < n && first < m && strcmp(s->a.list[first], s->b.list[first]) == 0; first++)
        push(s, ' ', s->a.list[first]);
    size_t tail = n;
    while (n > first && m > first && strcmp(s->a.list[n - 1], s->b.list[m - 1]) == 0) {
        n--;
        m--;
    }
    char **a = s->a.list + first, **b = s->b.list + first;
    s->trace = n == first && m == first ? NULL : malloc(cells * sizeof(int));
    int d = s->trace == NULL ? -1 : search(s, a, b, (int)(n - first), (int)(m - first));
    if (d >= 0)
        backtrack(s, a, b, (int)(n - first), (int)(m - first), d);
    for (size_t i = first; d < 0 && i < n; i++)
        push(s, '-', s->a.list[i]);
    for (size_t i = first; d < 0 && i < m; i++)
        push(s, '+', s->b.list[i]);
    for (size_t i = n; i < tail; i++)
        push(s, ' ', s->a.list[i]);
    return true;
}

/* The end of the hunk that starts with the change at `at`: behind its last change, from which the
 * next one is further than two contexts. */
static size_t hunk_end(const struct script *s, size_t at)
{
    size_t end = at;
    for (size_t i = at; i < s->count && i <= end + 2 * CONTEXT; i++)
        if (s->edits[i].kind != ' ')
            end = i + 1;
    return end;
}

static void write_range(FILE *out, char sign, size_t start, size_t count)
{
    fprintf(out, " %c%zu", sign, count == 0 ? start : start + 1);
    if (count != 1)
        fprintf(out, ",%zu", count);
}

static void write_hunks(FILE *out, const struct script *s)
{
    size_t line_a = 0, line_b = 0, at = 0; /* lines of a and b before edit `at` */
    for (size_t next = 0; next < s->count; next++) {
        if (s->edits[next].kind == ' ')
            continue;
        size_t start = next - at < CONTEXT ? at : next - CONTEXT, end = hunk_end(s, next);
        size_t stop = s->count - end < CONTEXT ? s->count : end + CONTEXT, count_a = 0, count_b = 0;
        line_a += start - at;
        line_b += start - at;
        for (size_t i = start; i < stop; i++) {
            count_a += s->edits[i].kind != '+';
            count_b += s->edits[i].kind != '-';
        }
        fputs("@@", out);
        write_range(out, '-', line_a, count_a);
        write_range(out, '+', line_b, count_b);
        fputs(" @@\n", out);
        for (size_t i = start; i < stop; i++)
            fprintf(out, "%c%s\n", s->edits[i].kind, s->edits[i].line);
        line_a += count_a;
        line_b += count_b;
        at = stop;
        next = stop - 1;
    }
}

static char *write_text(const struct script *s, const char *from_name, const char *to_name)
{
    char *text = NULL;
    size_t len = 0;
    bool same = true;
    for (size_t i = 0; i < s->count; i++)
        same &= s->edits[i].kind == ' ';
    FILE *out = open_memstream(&text, &len);
    if (out == NULL)
        return NULL;
    if (!same) {
        fprintf(out, "--- %s\n+++ %s\n", from_name, to_name);
        write_hunks(out, s);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

char *json_diff_text(const json_t *from, const json_t *to, const char *from_name,
                     const char *to_name)
{
    struct script s = {.count = 0};
    char *text = NULL;
    if (lines_split(from, &s.a) && lines_split(to, &s.b) && make_script(&s))
        text = write_text(&s, from_name, to_name);
    free(s.a.text);
    free(s.a.list);
    free(s.b.text);
    free(s.b.list);
    free(s.edits);
    free(s.trace);
    return text;
}
