/*
 * tests/unit/server/test_bundle.c - archives of operators' files: what is read, what is named and
 * left, and where reading ends.
 */
#include "tests/unit/test.h"

#include <archive.h>
#include <archive_entry.h>

#include "base/json.h"
#include "server/bundle.h"

#define ROOM (4u * 1024 * 1024)

struct packed {
    char *bytes;
    size_t len;
    struct archive *archive;
};

static void begin(struct packed *p, bool zip, bool gzip)
{
    p->bytes = malloc(ROOM);
    p->archive = archive_write_new();
    assert_non_null(p->bytes);
    assert_non_null(p->archive);
    assert_int_equal(zip ? archive_write_set_format_zip(p->archive)
                         : archive_write_set_format_pax_restricted(p->archive),
                     ARCHIVE_OK);
    if (gzip)
        assert_int_equal(archive_write_add_filter_gzip(p->archive), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(p->archive, p->bytes, ROOM, &p->len), ARCHIVE_OK);
}

static void add(struct packed *p, const char *path, unsigned type, const void *bytes, size_t len)
{
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, path);
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, (la_int64_t)len);
    if (type == AE_IFLNK)
        archive_entry_set_symlink(entry, "/etc/shadow");
    assert_int_equal(archive_write_header(p->archive, entry), ARCHIVE_OK);
    if (len > 0)
        assert_int_equal(archive_write_data(p->archive, bytes, len), (la_ssize_t)len);
    archive_entry_free(entry);
}

static void add_text(struct packed *p, const char *path, const char *text)
{
    add(p, path, AE_IFREG, text, strlen(text));
}

static void end(struct packed *p)
{
    assert_int_equal(archive_write_close(p->archive), ARCHIVE_OK);
    assert_int_equal(archive_write_free(p->archive), ARCHIVE_OK);
}

static json_t *read_packed(struct packed *p)
{
    struct err err = ERR_INIT;
    json_t *out = NULL;
    assert_true(bundle_is(p->bytes, p->len));
    assert_ok(bundle_read(p->bytes, p->len, &out, &err));
    free(p->bytes);
    return out;
}

static const char *state_of(const json_t *bundle, const char *path)
{
    const json_t *files = json_object_get(bundle, "files");
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);
        if (strcmp(json_string_value(json_object_get(file, "path")), path) == 0)
            return json_string_value(json_object_get(file, "state"));
    }
    return NULL;
}

static const json_t *first_fact(const json_t *bundle, size_t file)
{
    const json_t *files = json_object_get(bundle, "files");
    return json_array_get(
        json_object_get(json_object_get(json_array_get(files, file), "evidence"), "facts"), 0);
}

#define COUNTERS "NIC statistics:\n     rx_crc_errors_phy: 5\n"

static void fill(struct packed *p)
{
    add(p, "sos/", AE_IFDIR, NULL, 0);
    add_text(p, "sos/ethtool_-S_eth0", COUNTERS);
    add_text(p, "sos/notes.txt", "nobody prints this\n");
    add_text(p, "../../../etc/cron.d/x", COUNTERS);
    add_text(p, "empty", "");
}

static void each_file_of_an_archive_is_read(void **unused)
{
    (void)unused;
    for (int form = 0; form < 4; form++) {
        struct packed p;
        begin(&p, form == 1, form >= 2);
        fill(&p);
        end(&p);
        OWN(json) json_t *bundle = read_packed(&p);
        assert_false(json_is_true(json_object_get(bundle, "truncated")));
        assert_int_equal(json_array_size(json_object_get(bundle, "files")), 4);
        assert_string_equal(state_of(bundle, "sos/ethtool_-S_eth0"), "read");
        assert_string_equal(state_of(bundle, "sos/notes.txt"), "unknown");
        assert_string_equal(state_of(bundle, "../../../etc/cron.d/x"), "read");
        assert_string_equal(state_of(bundle, "empty"), "unknown");
        const json_t *fact = first_fact(bundle, 0);
        assert_string_equal(json_string_value(json_object_get(fact, "subject")), "netdev eth0");
        assert_int_equal(json_integer_value(json_object_get(fact, "value")), 5);
        fact = first_fact(bundle, 2); /* a name that is no command says nothing */
        assert_string_equal(json_string_value(json_object_get(fact, "subject")), "netdev");
    }
}

static void links_and_archives_are_named_and_left(void **unused)
{
    (void)unused;
    struct packed inner, p;
    begin(&inner, false, true);
    fill(&inner);
    end(&inner);
    begin(&p, false, false);
    add(&p, "link", AE_IFLNK, NULL, 0);
    add(&p, "pipe", AE_IFIFO, NULL, 0);
    add(&p, "inner.tar.gz", AE_IFREG, inner.bytes, inner.len);
    add_text(&p, "a\nb\033[31m", COUNTERS);
    end(&p);
    free(inner.bytes);
    OWN(json) json_t *bundle = read_packed(&p);
    assert_string_equal(state_of(bundle, "link"), "not-a-file");
    assert_string_equal(state_of(bundle, "pipe"), "not-a-file");
    assert_string_equal(state_of(bundle, "inner.tar.gz"), "archive");
    assert_string_equal(state_of(bundle, "a?b?[31m"), "read");
}

static void a_file_that_is_only_compressed_is_one_without_a_name(void **unused)
{
    (void)unused;
    struct packed p;
    p.bytes = malloc(ROOM);
    p.archive = archive_write_new();
    archive_write_set_format_raw(p.archive);
    archive_write_add_filter_xz(p.archive);
    assert_int_equal(archive_write_open_memory(p.archive, p.bytes, ROOM, &p.len), ARCHIVE_OK);
    add_text(&p, "x", COUNTERS);
    end(&p);
    OWN(json) json_t *bundle = read_packed(&p);
    assert_string_equal(state_of(bundle, ""), "read");
}

static void more_files_than_the_limit_end_the_reading(void **unused)
{
    (void)unused;
    for (size_t more = 0; more < 2; more++) {
        struct packed p;
        begin(&p, false, false);
        for (size_t i = 0; i < BUNDLE_FILES_MAX + more; i++)
            add_text(&p, "x", "y\n");
        end(&p);
        OWN(json) json_t *bundle = read_packed(&p);
        assert_int_equal(json_array_size(json_object_get(bundle, "files")), BUNDLE_FILES_MAX);
        assert_int_equal(json_is_true(json_object_get(bundle, "truncated")), more);
    }
}

static void what_unpacks_to_very_much_is_refused(void **unused)
{
    (void)unused;
    struct packed p;
    struct err err = ERR_INIT;
    json_t *out = NULL;
    const size_t size = 8u * 1024 * 1024;
    char *zeros = calloc(1, size);
    begin(&p, false, true);
    add(&p, "zeros", AE_IFREG, zeros, size);
    end(&p);
    free(zeros);
    assert_int_equal(bundle_read(p.bytes, p.len, &out, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "200 times"));
    assert_null(out);
    free(p.bytes);
}

/* Cut anywhere: an error, or the files before the cut and "truncated". */
static void a_cut_archive_never_says_more_than_it_has(void **unused)
{
    (void)unused;
    for (int zip = 0; zip < 2; zip++) {
        struct packed p;
        begin(&p, zip != 0, zip == 0);
        fill(&p);
        end(&p);
        for (size_t len = 0; len < p.len; len++) {
            struct err err = ERR_INIT;
            OWN(json) json_t *out = NULL;
            char *cut = malloc(len + 1); /* exact, so that a read behind the end is seen */
            memcpy(cut, p.bytes, len);
            enum err_code code = bundle_read(cut, len, &out, &err);
            free(cut);
            if (code != ERR_OK)
                assert_true(err.text[0] != '\0');
            else
                assert_true(json_array_size(json_object_get(out, "files")) <= 4);
        }
        free(p.bytes);
    }
}

static void other_bytes_are_no_archive(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    json_t *out = NULL;
    assert_false(bundle_is("", 0));
    assert_false(bundle_is("P", 1));
    assert_false(bundle_is(COUNTERS, strlen(COUNTERS)));
    assert_int_equal(bundle_read("PK\003\004 no", 7, &out, &err), ERR_INVALID);
    assert_int_equal(bundle_read("\037\213 no such thing", 16, &out, &err), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_of_an_archive_is_read),
        cmocka_unit_test(links_and_archives_are_named_and_left),
        cmocka_unit_test(a_file_that_is_only_compressed_is_one_without_a_name),
        cmocka_unit_test(more_files_than_the_limit_end_the_reading),
        cmocka_unit_test(what_unpacks_to_very_much_is_refused),
        cmocka_unit_test(a_cut_archive_never_says_more_than_it_has),
        cmocka_unit_test(other_bytes_are_no_archive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
