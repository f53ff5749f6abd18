/*
 * cli/exit.c - see exit.h.
 */
#include "cli/exit.h"

#include <stddef.h>

enum exit_code exit_of_status(long status)
{
    static const struct {
        long status;
        enum exit_code code;
    } known[] = {
        {401, EXIT_AUTH},     {403, EXIT_AUTH},     {404, EXIT_MISSING},     {409, EXIT_CONFLICT},
        {412, EXIT_CONFLICT}, {428, EXIT_CONFLICT}, {429, EXIT_UNREACHABLE},
    };
    if (status >= 200 && status <= 299)
        return EXIT_DONE;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].status == status)
            return known[i].code;
    return status >= 400 && status <= 499 ? EXIT_REFUSED : EXIT_UNREACHABLE;
}

enum exit_code exit_of_err(enum err_code code)
{
    switch (code) {
    case ERR_OK:
        return EXIT_DONE;
    case ERR_UNAVAILABLE:
    case ERR_NOMEM:
        return EXIT_UNREACHABLE;
    case ERR_CONFLICT:
        return EXIT_CONFLICT;
    case ERR_DENIED:
        return EXIT_AUTH;
    case ERR_NOT_FOUND:
        return EXIT_MISSING;
    case ERR_INVALID:
    case ERR_LIMIT:
    case ERR_UNSUPPORTED:
    case ERR_IO:
        break;
    }
    return EXIT_USAGE;
}

void exit_sum_add(struct exit_sum *sum, enum exit_code code)
{
    if (code == EXIT_DONE) {
        sum->done++;
        return;
    }
    sum->mixed = sum->mixed || (sum->failed > 0 && code != sum->first);
    if (sum->failed++ == 0)
        sum->first = code;
}

enum exit_code exit_sum_code(const struct exit_sum *sum)
{
    if (sum->failed == 0)
        return EXIT_DONE;
    return sum->done > 0 || sum->mixed ? EXIT_PARTIAL : sum->first;
}
