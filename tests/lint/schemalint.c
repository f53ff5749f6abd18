/*
 * tests/lint/schemalint.c - compiles every schema file given as an argument, strictly; prints what
 * is wrong and where. Exit status 1 when a file has a problem.
 */
#include <stdio.h>

#include "base/file.h"
#include "base/json.h"
#include "base/schema.h"

static enum err_code lint(const char *path, struct err *err)
{
    OWN(str) char *text = NULL;
    OWN(json) json_t *document = NULL;
    OWN(schema) struct schema *schema = NULL;
    size_t len;
    enum err_code code = file_read(path, JSON_TEXT_MAX, &text, &len, err);
    if (code == ERR_OK)
        code = json_parse(text, len, &document, err);
    if (code == ERR_OK)
        code = schema_compile(document, true, &schema, err);
    return code;
}

int main(int argc, char **argv)
{
    int wrong = 0;
    for (int i = 1; i < argc; i++) {
        struct err err = ERR_INIT;
        if (lint(argv[i], &err)) {
            printf("%s: %s\n", argv[i], err.text);
            wrong++;
        }
    }
    printf("schemalint: %d files, %d with problems\n", argc - 1, wrong);
    return wrong == 0 ? 0 : 1;
}
