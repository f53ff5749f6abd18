/*
 * tests/lab/verifyctl.c - a node's part of a test between nodes, by hand: takes a task
 * (fleet/verify.h) on standard input, does what the agent does with one, prints the report and the
 * grade that figures of a device of this class get.
 *
 *   verifyctl software|SPEED_BPS
 *
 * Exit code: 0 done, 1 not, 2 usage or no task.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/verify_run.h"
#include "base/json.h"

static int print(const struct verify_report *report, const struct verify_task *task,
                 const struct verify_class *device)
{
    char why[VERIFY_WHY_SIZE];
    OWN(json) json_t *document = verify_report_to_json(report);
    enum verify_verdict verdict = verify_grade(task->kind, device, &report->figures, why);
    if (report->outcome == VERIFY_CORRUPT) {
        verdict = VERIFY_FAIL;
        snprintf(why, sizeof(why), "silent data corruption");
    }
    json_object_set_new(document, "verdict", json_string(verify_verdict_names[verdict]));
    json_object_set_new(document, "why", json_string(why));
    OWN(str) char *text = document == NULL ? NULL : json_canonical(document, NULL);
    if (text == NULL)
        return 1;
    puts(text);
    return report->outcome == VERIFY_DONE ? 0 : 1;
}

int main(int argc, char **argv)
{
    char text[VERIFY_TASK_BYTES_MAX];
    struct verify_task task;
    struct verify_report report;
    struct err err = ERR_INIT;
    if (argc != 2) {
        fprintf(stderr, "usage: verifyctl software|SPEED_BPS\n");
        return 2;
    }
    const struct verify_class device = {.software = strcmp(argv[1], "software") == 0,
                                        .speed_bps = strtoll(argv[1], NULL, 10)};
    OWN(json) json_t *document = NULL;
    size_t len = fread(text, 1, sizeof(text), stdin);
    if (json_parse(text, len, &document, &err) != ERR_OK ||
        verify_task_from_json(document, &task, &err) != ERR_OK) {
        fprintf(stderr, "verifyctl: %s: %s\n", err.pointer, err.text);
        return 2;
    }
    verify_run(&task, NULL, &report);
    return print(&report, &task, &device);
}
