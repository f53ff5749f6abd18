#pragma once
/*
 * tests/unit/datapath/root_test.h - a root folder with made-up /sys, /proc and /etc.
 */

#include "tests/unit/test.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static inline int root_remove_one(const char *path, const struct stat *info, int type,
                                  struct FTW *ftw)
{
    (void)info;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void root_remove(const char *root)
{
    assert_int_equal(nftw(root, root_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void root_folder(const char *root, const char *path)
{
    char full[2 * TEST_PATH_MAX];
    struct err err = ERR_INIT;
    snprintf(full, sizeof(full), "%s%s", root, path);
    assert_ok(file_mkdirs(full, 0755, &err));
}

/* Writes root + path, making its folder. */
static inline void root_file(const char *root, const char *path, const char *text, mode_t mode)
{
    char folder[TEST_PATH_MAX], full[2 * TEST_PATH_MAX];
    snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
    root_folder(root, folder);
    snprintf(full, sizeof(full), "%s%s", root, path);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(full, mode), 0);
}

static inline void root_link(const char *root, const char *path, const char *target)
{
    char full[2 * TEST_PATH_MAX];
    snprintf(full, sizeof(full), "%s%s", root, path);
    assert_int_equal(symlink(target, full), 0);
}

/* The text of root + path; "" when there is none. Free it. */
static inline char *root_text(const char *root, const char *path)
{
    char full[2 * TEST_PATH_MAX], *text = NULL;
    size_t len;
    snprintf(full, sizeof(full), "%s%s", root, path);
    return file_read(full, 65536, &text, &len, NULL) == ERR_OK ? text : strdup("");
}
