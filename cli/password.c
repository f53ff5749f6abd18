/*
 * cli/password.c - see password.h.
 */
#include "cli/password.h"

#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/profile.h"

enum err_code password_ask(struct context *context, const char *prompt, char **out, struct err *err)
{
    struct termios old, silent;
    bool terminal = isatty(fileno(context->in)) && tcgetattr(fileno(context->in), &old) == 0;
    if (terminal) {
        silent = old;
        silent.c_lflag &= ~(tcflag_t)ECHO;
        // before the prompt: an answer that comes at once is neither shown nor lost
        tcsetattr(fileno(context->in), TCSAFLUSH, &silent);
        fprintf(context->err, "%s: ", prompt);
        fflush(context->err);
    }
    enum err_code code = secret_read("-", context->in, out, err);
    if (terminal) {
        tcsetattr(fileno(context->in), TCSAFLUSH, &old);
        fputc('\n', context->err);
    }
    return code;
}

enum err_code password_get(struct context *context, const struct arguments *arguments,
                           const char *prompt, char **out, struct err *err)
{
    const char *file = arguments_get(arguments, OPTION_PASSWORD_FILE);
    return file != NULL ? secret_read(file, context->in, out, err)
                        : password_ask(context, prompt, out, err);
}

enum err_code password_new(struct context *context, const struct arguments *arguments, char **out,
                           struct err *err)
{
    char *again = NULL;
    enum err_code code = password_get(context, arguments, "New password", out, err);
    if (code != ERR_OK || arguments_has(arguments, OPTION_PASSWORD_FILE) ||
        !isatty(fileno(context->in)))
        return code;
    code = password_ask(context, "Again", &again, err);
    if (code == ERR_OK && strcmp(*out, again) != 0)
        code = err_set(err, ERR_INVALID, "the two passwords differ");
    password_free(again);
    return code;
}

void password_free(char *password)
{
    if (password != NULL)
        explicit_bzero(password, strlen(password));
    free(password);
}
