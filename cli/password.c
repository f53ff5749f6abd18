/*
 * cli/password.c - see password.h.
 */
#include "cli/password.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/profile.h"

/* The terminal that shows nothing now, as it was before; for on_end(), so not in a struct. */
static int silent_fd = -1;
static struct termios silent_was;

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define END_COUNT (sizeof(ends) / sizeof(ends[0]))

/* SA_RESETHAND: the signal raised again ends the program as it would have. */
static void on_end(int signal)
{
    tcsetattr(silent_fd, TCSANOW, &silent_was);
    raise(signal);
}

/* From here on `fd` shows nothing typed; whatever ends the program puts it back. False = no
 * terminal. */
static bool silence(int fd, struct sigaction before[END_COUNT])
{
    struct sigaction action = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND};
    if (!isatty(fd) || tcgetattr(fd, &silent_was) != 0)
        return false;
    silent_fd = fd;
    for (size_t i = 0; i < END_COUNT; i++) {
        sigaction(ends[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) /* as of nohup */
            sigaction(ends[i], &action, NULL);
    }
    struct termios silent = silent_was;
    silent.c_lflag &= ~(tcflag_t)ECHO;
    tcsetattr(fd, TCSAFLUSH, &silent);
    return true;
}

static void put_back(const struct sigaction before[END_COUNT])
{
    tcsetattr(silent_fd, TCSAFLUSH, &silent_was);
    for (size_t i = 0; i < END_COUNT; i++)
        sigaction(ends[i], &before[i], NULL);
}

enum err_code password_ask(struct context *context, const char *prompt, char **out, struct err *err)
{
    struct sigaction before[END_COUNT];
    // before the prompt: an answer that comes at once is neither shown nor lost
    bool terminal = silence(fileno(context->in), before);
    if (terminal) {
        fprintf(context->err, "%s: ", prompt);
        fflush(context->err);
    }
    enum err_code code = secret_read("-", context->in, out, err);
    if (terminal) {
        put_back(before);
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
