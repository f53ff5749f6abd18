/*
 * datapath/solar/sim/solar_sim_main.c - solar-sim: runs scenarios (scenario.h), prints a line of
 * canonical JSON for each. Exit status: 0 all gave what they expect, 1 one did not, 2 usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "datapath/solar/sim/scenario.h"

static const char usage[] =
    "Usage: solar-sim SCENARIO.json...\n"
    "Simulates each scenario and prints what came of it, one line of JSON each; no\n"
    "figure of a law that was not validated against its authors' ones.\n"
    "  --help  this text\n"
    "Exit status: 0 each gave what it expects, 1 one did not or could not be run, 2 usage.\n";

static enum err_code run_file(const char *path, struct err *err)
{
    OWN(str) char *text = NULL;
    OWN(json) json_t *document = NULL, *result = NULL;
    OWN(str) char *line = NULL;
    size_t len;
    struct scenario scenario;
    struct netsim_totals totals = {0};
    if (file_read(path, SCENARIO_FILE_MAX, &text, &len, err) ||
        json_parse(text, len, &document, err) || scenario_from_json(document, &scenario, err))
        return err->code;
    bool may_tell = scenario_check_gate(&scenario, err) == ERR_OK;
    if (may_tell && scenario_run(&scenario, &totals, err) != ERR_OK)
        return err->code;
    result = scenario_result_to_json(&scenario, &totals);
    line = result == NULL ? NULL : json_canonical(result, NULL);
    if (line == NULL)
        return err_nomem(err);
    puts(line);
    return may_tell ? scenario_check(&scenario, &totals, err) : err->code;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc < 2 || argv[1][0] == '-') {
        if (argc > 1)
            fprintf(stderr, "solar-sim: there is no option %s\n", argv[1]);
        fputs(usage, stderr);
        return 2;
    }
    int status = 0;
    for (int i = 1; i < argc; i++) {
        struct err err = ERR_INIT;
        if (run_file(argv[i], &err) != ERR_OK) {
            fprintf(stderr, "solar-sim: %s: %s%s%s\n", argv[i], err.pointer,
                    err.pointer[0] != '\0' ? ": " : "", err.text);
            status = 1;
        }
    }
    return fflush(stdout) == 0 ? status : 1;
}
