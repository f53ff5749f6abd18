/*
 * tests/unit/datapath/test_solar_keyring.c - the file of a job's keys: its form, whose it has to
 * be, and that nothing another tenant can put in its place is taken.
 */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "datapath/solar/keyring.h"

#define HEX "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff"

static char folder[] = "/tmp/stellar-keyring-XXXXXX";
static char path[128], other[128];
static struct err err;

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/" KEYRING_FILE, folder);
    snprintf(other, sizeof(other), "%s/other", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static struct keyring ring_of(uint64_t epoch, size_t count)
{
    struct keyring ring = {.count = count};
    for (size_t i = 0; i < count; i++) {
        ring.keys[i].epoch = epoch + i;
        memset(ring.keys[i].key, (int)(epoch + i), MAC_KEY_SIZE);
    }
    return ring;
}

static void assert_ring(const struct keyring *got, const struct keyring *wanted)
{
    assert_int_equal(got->count, wanted->count);
    for (size_t i = 0; i < wanted->count; i++) {
        assert_int_equal(got->keys[i].epoch, wanted->keys[i].epoch);
        assert_memory_equal(got->keys[i].key, wanted->keys[i].key, MAC_KEY_SIZE);
    }
}

static enum err_code parse(const char *text, struct keyring *out)
{
    return keyring_parse(text, strlen(text), out, &err);
}

static void the_text_is_read_back(void **state)
{
    (void)state;
    struct keyring got;
    char text[KEYRING_TEXT_MAX];
    for (size_t count = 1; count <= KEYRING_KEYS_MAX; count++) {
        struct keyring ring = ring_of(UINT64_C(999999999999999990), count);
        size_t len = keyring_text(&ring, text);
        assert_ok(keyring_parse(text, len, &got, &err));
        assert_ring(&got, &ring);
    }
    assert_ok(parse("stellar-keys 1\n7 " HEX "\n", &got));
    assert_int_equal(got.keys[0].epoch, 7);
    assert_int_equal(got.keys[0].key[1], 1);
    assert_int_equal(got.keys[0].key[31], 255);
    assert_non_null(keyring_find(&got, 7));
    assert_null(keyring_find(&got, 8));
}

static void what_is_no_keyring_is_refused_and_not_repeated(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "stellar-keys 1\n",
        "stellar-keys 2\n7 " HEX "\n",
        "stellar-keys 1\n0 " HEX "\n",
        "stellar-keys 1\n07 " HEX "\n",
        "stellar-keys 1\n-7 " HEX "\n",
        "stellar-keys 1\n99999999999999999999 " HEX "\n",
        "stellar-keys 1\n7  " HEX "\n",
        "stellar-keys 1\n7 " HEX,
        "stellar-keys 1\n7 " HEX "0\n",
        "stellar-keys 1\n7 0x" HEX "\n",
        "stellar-keys 1\n7 " HEX "\n7 " HEX "\n",
        "stellar-keys 1\n7 " HEX "\n\n",
        "stellar-keys 1\n7 " HEX "\n8 " HEX "\n9 " HEX "\n10 " HEX "\n11 " HEX "\n",
    };
    struct keyring got = ring_of(5, 1);
    const struct keyring before = got;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        err = (struct err)ERR_INIT;
        assert_int_not_equal(parse(texts[i], &got), ERR_OK);
        assert_null(strstr(err.text, "000102"));
        assert_ring(&got, &before);
    }
    char text[KEYRING_TEXT_MAX + 1] = "stellar-keys 1\n";
    assert_fails(keyring_parse(text, sizeof(text), &got, &err), ERR_LIMIT);
    /* Each beginning of a good one, and each of its bytes altered to what no text has. */
    const char *good = "stellar-keys 1\n7 " HEX "\n";
    for (size_t len = 0; len < strlen(good); len++) {
        assert_int_not_equal(keyring_parse(good, len, &got, &err), ERR_OK);
        memcpy(text, good, strlen(good));
        text[len] = '\x80';
        assert_int_not_equal(keyring_parse(text, strlen(good), &got, &err), ERR_OK);
    }
}

static void a_file_is_written_for_owner_and_group_and_replaced_whole(void **state)
{
    (void)state;
    struct keyring got, ring = ring_of(3, 3);
    struct stat first, st;
    assert_fails(keyring_read(folder, &got, &err), ERR_NOT_FOUND);
    assert_ok(keyring_write(folder, &ring, &err));
    assert_ok(keyring_read(folder, &got, &err));
    assert_ring(&got, &ring);
    assert_int_equal(stat(path, &first), 0);
    assert_int_equal(first.st_mode & 07777, 0640);
    int fd = open(path, O_RDONLY); /* who has the old one open, has all of it */
    ring = ring_of(4, 2);
    assert_ok(keyring_write(folder, &ring, &err));
    assert_ok(keyring_read(folder, &got, &err));
    assert_ring(&got, &ring);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, first.st_size);
    close(fd);
    keyring_drop(folder);
    keyring_drop(folder);
    assert_fails(keyring_read(folder, &got, &err), ERR_NOT_FOUND);
    assert_fails(keyring_read(other, &got, &err), ERR_NOT_FOUND);
    assert_fails(keyring_write(other, &ring, &err), ERR_NOT_FOUND);
}

static void a_file_that_others_can_read_or_that_is_none_is_refused(void **state)
{
    (void)state;
    struct keyring got, ring = ring_of(3, 1);
    assert_ok(keyring_write(folder, &ring, &err));
    assert_int_equal(chmod(path, 0644), 0);
    assert_fails(keyring_read(folder, &got, &err), ERR_DENIED);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_fails(keyring_read(folder, &got, &err), ERR_DENIED);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails(keyring_read(folder, &got, &err), ERR_DENIED);
    /* A new key takes the place of whatever a tenant put there. */
    assert_ok(keyring_write(folder, &ring, &err));
    assert_ok(keyring_read(folder, &got, &err));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(other, path), 0);
    ring = ring_of(9, 1);
    assert_ok(keyring_write(folder, &ring, &err));
    assert_ok(keyring_read(folder, &got, &err));
    assert_int_equal(got.keys[0].epoch, 9);
    unlink(path);
    unlink(other);
}

static void a_file_of_another_user_is_refused_and_a_folder_of_one_gets_none(void **state)
{
    (void)state;
    struct keyring got, ring = ring_of(3, 1);
    if (geteuid() != 0)
        skip();
    assert_ok(keyring_write(folder, &ring, &err));
    assert_int_equal(chown(path, 65534, (gid_t)-1), 0);
    assert_fails(keyring_read(folder, &got, &err), ERR_DENIED);
    assert_int_equal(chown(path, 0, (gid_t)-1), 0);
    assert_int_equal(chown(folder, 65534, (gid_t)-1), 0);
    assert_fails(keyring_write(folder, &ring, &err), ERR_DENIED);
    assert_int_equal(chown(folder, 0, 65534), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_fails(keyring_write(folder, &ring, &err), ERR_DENIED);
    assert_int_equal(chmod(folder, 03730), 0); /* as who starts a job makes it */
    assert_ok(keyring_write(folder, &ring, &err));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_gid, 65534);
    keyring_drop(folder);
    assert_int_equal(chown(folder, 0, 0), 0);
    assert_int_equal(chmod(folder, 0700), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_read_back),
        cmocka_unit_test(what_is_no_keyring_is_refused_and_not_repeated),
        cmocka_unit_test(a_file_is_written_for_owner_and_group_and_replaced_whole),
        cmocka_unit_test(a_file_that_others_can_read_or_that_is_none_is_refused),
        cmocka_unit_test(a_file_of_another_user_is_refused_and_a_folder_of_one_gets_none),
    };
    return cmocka_run_group_tests_name("solar_keyring", tests, make_folder, remove_folder);
}
