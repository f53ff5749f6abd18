/*
 * cli/stellarctl_main.c - the program: locale and terminal; the rest is command_main().
 */
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/command.h"

/* Without UTF-8 the table library would print other characters than ASCII as bytes. */
static void set_locale(void)
{
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

static size_t terminal_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO))
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

int main(int argc, char **argv)
{
    struct context context;
    set_locale();
    context_init(&context, stdin, stdout, stderr);
    const char *no_color = getenv("NO_COLOR");
    context.width = terminal_width();
    context.colours = context.width > 0 && (no_color == NULL || no_color[0] == '\0');
    enum exit_code code = command_main(argc, argv, &context);
    context_release(&context);
    return (int)code;
}
