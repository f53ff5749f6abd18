/*
 * tests/unit/fleet/test_evidence_sweep.c - every file of tests/data/evidence, cut and mangled: what
 * is still read is what the whole file says, or it is not there.
 */
#include "evidence_test.h"

#include <dirent.h>

#include "base/json.h"
#include "base/schema.h"
#include "fleet/evidence/line.h"
#include "fleet/evidence/reader.h"

#define FILES_MAX 512

struct file {
    char name[TEST_PATH_MAX]; /* below EVIDENCE_FOLDER */
    char *bytes;
    size_t len;
    struct evidence *whole;
};

static struct file files[FILES_MAX];
static size_t file_count;

static struct evidence *read_bytes(const char *bytes, size_t len)
{
    struct err err = ERR_INIT;
    struct evidence *e = NULL;
    assert_ok(evidence_read(NULL, bytes, len, &e, &err));
    return e;
}

static void load_kind(const char *kind)
{
    char path[TEST_PATH_MAX], name[TEST_PATH_MAX];
    snprintf(name, sizeof(name), EVIDENCE_FOLDER "%s", kind);
    test_path(name, path);
    DIR *dir = opendir(path);
    if (dir == NULL)
        return; /* a file beside the folders */
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        assert_true(file_count < FILES_MAX);
        struct file *file = &files[file_count++];
        int n =
            snprintf(file->name, sizeof(file->name), EVIDENCE_FOLDER "%s/%s", kind, entry->d_name);
        assert_true(n > 0 && n < TEST_PATH_MAX);
        file->bytes = test_load(file->name, &file->len);
        file->whole = read_bytes(file->bytes, file->len);
    }
    closedir(dir);
}

static int load_all(void **unused)
{
    (void)unused;
    char path[TEST_PATH_MAX];
    test_path(EVIDENCE_FOLDER, path);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.' && strchr(entry->d_name, '.') == NULL)
            load_kind(entry->d_name);
    }
    closedir(dir);
    return 0;
}

static int free_all(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < file_count; i++) {
        free(files[i].bytes);
        evidence_free(files[i].whole);
    }
    return 0;
}

/* The fact of the whole at that line: the nth of its name, on that subject unless it is NULL. */
static const struct evidence_fact *at_line(const struct evidence *e, uint32_t line,
                                           const char *subject, const char *name, size_t nth)
{
    for (size_t i = 0; i < e->fact_count; i++) {
        const struct evidence_fact *fact = &e->facts[i];
        if (fact->line == line && strcmp(fact->name, name) == 0 &&
            (subject == NULL || strcmp(fact->subject, subject) == 0) && nth-- == 0)
            return fact;
    }
    return NULL;
}

/* How many facts of that name and line stand before fact i. */
static size_t before(const struct evidence *e, size_t i, bool subject)
{
    size_t count = 0;
    for (size_t k = 0; k < i; k++) {
        const struct evidence_fact *a = &e->facts[k], *b = &e->facts[i];
        if (a->line == b->line && strcmp(a->name, b->name) == 0 &&
            (!subject || strcmp(a->subject, b->subject) == 0))
            count++;
    }
    return count;
}

/* Every fact of the cut file is one of the whole. Lines of the cut are `skipped` behind. */
static void check_cut(const struct file *file, const struct evidence *cut, uint32_t skipped)
{
    bool strict = skipped == 0; /* a lost beginning may lose the subject */
    for (size_t i = 0; i < cut->fact_count; i++) {
        const struct evidence_fact *fact = &cut->facts[i];
        const struct evidence_fact *same =
            at_line(file->whole, fact->line + skipped, strict ? fact->subject : NULL, fact->name,
                    before(cut, i, strict));
        if (fact->state == EVIDENCE_UNKNOWN || (same == NULL && !strict))
            continue;
        if (same == NULL || strcmp(same->value, fact->value) != 0)
            fail_msg("%s without %u lines, line %u: '%s' %s is '%s', of the whole '%s'", file->name,
                     skipped, fact->line, fact->subject, fact->name, fact->value,
                     same != NULL ? same->value : "(none)");
    }
}

static void a_file_cut_at_any_line_says_nothing_else(void **unused)
{
    (void)unused;
    for (size_t f = 0; f < file_count; f++) {
        uint32_t line = 0;
        for (size_t at = 0; at < files[f].len; at++) {
            if (files[f].bytes[at] != '\n')
                continue;
            line++;
            OWN(evidence) struct evidence *head = read_bytes(files[f].bytes, at + 1);
            check_cut(&files[f], head, 0);
            OWN(evidence)
            struct evidence *tail = read_bytes(files[f].bytes + at + 1, files[f].len - at - 1);
            check_cut(&files[f], tail, line);
        }
    }
}

/* Copies the file with `before` ahead of and `after` behind each line. */
static char *wrap_lines(const struct file *file, const char *ahead, const char *behind, size_t *len)
{
    char *out = malloc(file->len * 6 + 16);
    assert_non_null(out);
    size_t at = 0;
    for (size_t i = 0; i < file->len; i++) {
        if (i == 0 || file->bytes[i - 1] == '\n')
            at += (size_t)sprintf(out + at, "%s", ahead);
        if (file->bytes[i] == '\n')
            at += (size_t)sprintf(out + at, "%s", behind);
        out[at++] = file->bytes[i];
    }
    *len = at;
    return out;
}

static void check_same(const struct file *file, const struct evidence *other)
{
    OWN(json) json_t *first = evidence_to_json(file->whole);
    OWN(json) json_t *second = evidence_to_json(other);
    if (!json_equal(first, second)) {
        check_cut(file, other, 0);
        fail_msg("%s says something else, %zu facts instead of %zu, kind %s", file->name,
                 other->fact_count, file->whole->fact_count, other->kind);
    }
}

static void ends_of_lines_and_blanks_change_nothing(void **unused)
{
    (void)unused;
    static const char *const around[][2] = {{"", "\r"}, {"  ", ""}, {"", "  \t"}, {"\x1b[0m", ""}};
    for (size_t f = 0; f < file_count; f++) {
        for (size_t k = 0; k < sizeof(around) / sizeof(around[0]); k++) {
            size_t len;
            const char *dot = strrchr(files[f].name, '.');
            if (around[k][0][0] == ' ' && dot != NULL && strcmp(dot, ".yaml") == 0)
                continue; /* where indentation is meaning */
            OWN(str) char *text = wrap_lines(&files[f], around[k][0], around[k][1], &len);
            OWN(evidence) struct evidence *e = read_bytes(text, len);
            check_same(&files[f], e);
        }
    }
}

/* Runs of blanks as one tab, as some of the tools print them. */
static void tabs_between_columns_change_no_number(void **unused)
{
    (void)unused;
    for (size_t f = 0; f < file_count; f++) {
        OWN(str) char *text = malloc(files[f].len + 1);
        assert_non_null(text);
        size_t len = 0;
        for (size_t i = 0; i < files[f].len; i++) {
            bool run = files[f].bytes[i] == ' ' && files[f].bytes[i + 1] == ' ';
            if (!run)
                text[len++] = files[f].bytes[i];
            else
                text[len++] = '\t';
            while (run && files[f].bytes[i + 1] == ' ')
                i++;
        }
        OWN(evidence) struct evidence *e = read_bytes(text, len);
        for (size_t i = 0; i < e->fact_count; i++) {
            const struct evidence_fact *fact = &e->facts[i];
            const struct evidence_fact *same =
                at_line(files[f].whole, fact->line, fact->subject, fact->name, before(e, i, true));
            if (fact->type != EVIDENCE_TEXT && fact->state == EVIDENCE_KNOWN && same != NULL &&
                strcmp(same->value, fact->value) != 0)
                fail_msg("%s, line %u: %s is %s, was %s", files[f].name, fact->line, fact->name,
                         fact->value, same->value);
        }
    }
}

static void every_document_holds_its_schema(void **unused)
{
    (void)unused;
    assert_true(file_count > 50);
    for (size_t f = 0; f < file_count; f++) {
        OWN(json) json_t *document = evidence_to_json(files[f].whole);
        OWN_FINDINGS struct finding_list faults;
        finding_list_init(&faults);
        if (!schema_validate(schema_get("evidence"), document, &faults))
            fail_msg("%s: %s", files[f].name, faults.items[0].message);
        assert_string_not_equal(files[f].whole->kind, "unknown");
    }
}

/* Rows of "nvidia-smi nvlink" stand below the heads that "nvidia-smi -L" prints alone. */
static bool may_claim_too(const char *own, const char *other)
{
    return strcmp(own, "nvidia-smi-nvlink") == 0 && strcmp(other, "nvidia-smi") == 0;
}

/* Where a section begins, readers of its own kind alone say that theirs does: whose turn it is then
 * hangs on no order. */
static void one_kind_claims_the_beginning_of_a_section(void **unused)
{
    (void)unused;
    for (size_t f = 0; f < file_count; f++) {
        struct lines lines;
        struct err err = ERR_INIT;
        assert_ok(lines_cut(files[f].bytes, files[f].len, &lines, &err));
        const struct evidence_job job = {.bytes = files[f].bytes,
                                         .len = files[f].len,
                                         .lines = lines.items,
                                         .line_count = lines.count,
                                         .command = {.at = "", .len = 0}};
        for (size_t s = 0; s < files[f].whole->section_count; s++) {
            const struct evidence_section *section = &files[f].whole->sections[s];
            for (size_t r = 0; evidence_readers[r] != NULL; r++) {
                const struct evidence_reader *reader = evidence_readers[r];
                if (strcmp(reader->kind, section->kind) != 0 &&
                    !may_claim_too(section->kind, reader->kind) &&
                    reader->begins(&job, section->first_line - 1))
                    fail_msg("%s:%u is of %s, and %s (%s) claims it", files[f].name,
                             section->first_line, section->kind, reader->kind, reader->tool);
            }
        }
        lines_release(&lines);
    }
}

/* Numbers in brackets are no kernel's time where a table has them. */
static void a_table_with_numbers_in_brackets_is_no_kernel_log(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        "[12.5] 100 200\n[25.0] 110 210\n",
        "[12.5] Gb/s\n",
        "| [12.5] | 3 |\n",
        "size [MB]  bw [GB/s]\n[12.5]     97.1\n",
        "[0.5, 1.0] 12\n",
        "[12.5]\n",
        "[1.5]: 7\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        OWN(evidence) struct evidence *e = read_bytes(texts[i], strlen(texts[i]));
        if (strcmp(e->kind, "dmesg") == 0 || e->findings.count > 0 || e->fact_count > 0)
            fail_msg("'%s' is read as %s", texts[i], e->kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_document_holds_its_schema),
        cmocka_unit_test(one_kind_claims_the_beginning_of_a_section),
        cmocka_unit_test(a_table_with_numbers_in_brackets_is_no_kernel_log),
        cmocka_unit_test(a_file_cut_at_any_line_says_nothing_else),
        cmocka_unit_test(ends_of_lines_and_blanks_change_nothing),
        cmocka_unit_test(tabs_between_columns_change_no_number),
    };
    return cmocka_run_group_tests(tests, load_all, free_all);
}
