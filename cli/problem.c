/*
 * cli/problem.c - see problem.h.
 */
#include "cli/problem.h"

#include "cli/context.h"

static const char *member(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void print_labelled(FILE *out, const char *label, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    fputs(label, out);
    print_text(out, text);
}

/* "  error bw-limit-floor at /qos_policy/cv_job/bw_limit: ..." */
static void print_finding(FILE *out, const json_t *finding)
{
    const char *severity = member(finding, "severity"), *rule = member(finding, "rule");
    fputs("  ", out);
    print_text(out, severity != NULL ? severity : "error");
    print_labelled(out, " ", rule);
    print_labelled(out, " at ", member(finding, "pointer"));
    print_labelled(out, ": ", member(finding, "message"));
    fputc('\n', out);
    const char *observed = member(finding, "observed"), *limit = member(finding, "limit");
    if (observed != NULL || limit != NULL) {
        print_labelled(out, "    observed ", observed);
        print_labelled(out, observed != NULL ? ", limit " : "    limit ", limit);
        fputc('\n', out);
    }
    if (member(finding, "hint") != NULL) {
        print_labelled(out, "    hint: ", member(finding, "hint"));
        fputc('\n', out);
    }
}

void findings_print(FILE *out, const json_t *findings)
{
    size_t i;
    json_t *finding;
    json_array_foreach(findings, i, finding) print_finding(out, finding);
}

void problem_print(FILE *out, long status, const json_t *problem)
{
    const char *code = member(problem, "code"), *title = member(problem, "title");
    const char *detail = member(problem, "detail");
    fprintf(out, "stellarctl: %ld", status);
    print_labelled(out, " ", code != NULL ? code : title);
    print_labelled(out, ": ", detail != NULL ? detail : title);
    fputc('\n', out);
    findings_print(out, json_object_get(problem, "errors"));
    if (json_is_true(json_object_get(problem, "truncated")))
        fputs("  there are more than these\n", out);
    const char *request_id = member(problem, "request_id");
    if (request_id != NULL) {
        print_labelled(out, "  request ", request_id);
        fputc('\n', out);
    }
}
