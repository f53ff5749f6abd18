/*
 * tests/fuzz/replay.c - main() for fuzzers built without libFuzzer: runs every file given, and
 * every file of every folder given, through LLVMFuzzerTestOneInput() and prints how many.
 */
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long count;

static void replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data =
        malloc(size > 0 ? size : 1); /* exact, so that a sanitizer sees a read too far */
    if (file == NULL || data == NULL || fread(data, 1, size, file) != size) {
        fprintf(stderr, "replay: cannot read %s\n", path);
        exit(2);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    count++;
}

static void replay(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        fprintf(stderr, "replay: cannot find %s\n", path);
        exit(2);
    }
    if (!S_ISDIR(st.st_mode)) {
        replay_file(path, (size_t)st.st_size);
        return;
    }
    DIR *dir = opendir(path);
    if (dir == NULL) {
        fprintf(stderr, "replay: cannot open %s\n", path);
        exit(2);
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char inner[PATH_MAX];
        if (entry->d_name[0] == '.')
            continue;
        int n = snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (n > 0 && (size_t)n < sizeof(inner))
            replay(inner);
    }
    closedir(dir);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("%s 1 - %lu inputs of the corpus replayed\n1..1\n", count > 0 ? "ok" : "not ok", count);
    return count > 0 ? 0 : 1;
}
