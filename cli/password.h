#pragma once
/*
 * cli/password.h - passwords from a file, from standard input, or asked for on a terminal.
 */

#include "cli/arguments.h"
#include "cli/context.h"

/* A password that is there already: --password-file, or asked for with `prompt`; malloc'ed. */
ERR_MUST_CHECK enum err_code password_get(struct context *context,
                                          const struct arguments *arguments, const char *prompt,
                                          char **out, struct err *err);
/* Asked for, whatever --password-file says. */
ERR_MUST_CHECK enum err_code password_ask(struct context *context, const char *prompt, char **out,
                                          struct err *err);
/* A new one: as password_get(), but on a terminal asked for twice. ERR_INVALID: they differ. */
ERR_MUST_CHECK enum err_code password_new(struct context *context,
                                          const struct arguments *arguments, char **out,
                                          struct err *err);
/* Overwrites and frees it; NULL is fine. */
void password_free(char *password);
