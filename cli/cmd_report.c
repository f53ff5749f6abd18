/*
 * cli/cmd_report.c - stellarctl report: a report of health, the fleet's or a tenant's, as a page, a
 * table or a document.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "fleet/name.h"

/* An argument more, as if it had been given. */
static void give(struct arguments *arguments, enum option option, const char *value)
{
    if (arguments->given_count == ARGUMENTS_MAX || value == NULL)
        return;
    arguments->given[arguments->given_count].option = option;
    arguments->given[arguments->given_count++].value = value;
}

enum exit_code cmd_report(struct context *context, const struct arguments *arguments)
{
    struct arguments call = *arguments;
    char report[NAME_SIZE + 16], language[64];
    const char *wanted = arguments_get(arguments, OPTION_LANGUAGE);
    const char *tenant = arguments_get(arguments, OPTION_TENANT);
    if (tenant != NULL && arguments->word_count > 0) {
        struct err err = ERR_INIT;
        err_set(&err, ERR_INVALID, "a tenant's report is of now: --tenant has no REPORT");
        return context_fail(context, &err);
    }
    if (tenant != NULL)
        snprintf(report, sizeof(report), "tenant=%.63s", tenant);
    else
        snprintf(report, sizeof(report), "report=%.50s",
                 arguments->word_count > 0 ? arguments->words[0] : "current");
    snprintf(language, sizeof(language), "lang=%.50s", wanted != NULL ? wanted : "");
    give(&call, OPTION_PARAM, report);
    give(&call, OPTION_QUERY, wanted != NULL ? language : NULL);
    if (!arguments_has(arguments, OPTION_ACCEPT))
        give(&call, OPTION_ACCEPT, wanted != NULL ? "text/html" : "application/json");
    call.words[0] = tenant != NULL ? "tenant_report" : "health_report_get";
    call.word_count = 1;
    return cmd_api(context, &call);
}
