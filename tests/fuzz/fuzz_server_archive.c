/*
 * tests/fuzz/fuzz_server_archive.c - an exported configuration that comes back: read in one piece
 * and item by item it has the same faults, and what has a fault says where.
 */
#include "base/json.h"
#include "server/archive.h"
#include "tests/fuzz/fuzz.h"

/* What is wrong with it, as JSON; NULL = the frame is no archive's. */
static json_t *faults_of(const json_t *document, size_t step, size_t *out_total)
{
    struct archive archive;
    struct err err = ERR_INIT;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    enum err_code code = archive_open(document, &archive, &findings, &err);
    must(code == ERR_OK || (err.text[0] != '\0' && finding_list_has_errors(&findings)));
    json_t *faults = NULL;
    if (code == ERR_OK) {
        *out_total = archive.total;
        if (step == 0)
            step = archive.total + 1;
        for (size_t at = 0; at < archive.total; at += step)
            must(archive_check(&archive, at, step, &findings, &err) == ERR_OK);
        faults = finding_list_to_json(&findings);
        must(faults != NULL && digest_is_valid(archive.digest));
    }
    archive_release(&archive);
    return faults;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWN(json) json_t *document = NULL;
    size_t total = 0, again = 0;
    if (json_parse((const char *)data, size, &document, NULL))
        return 0;
    OWN(json) json_t *kept = json_deep_copy(document);
    OWN(json) json_t *whole = faults_of(document, 0, &total);
    OWN(json) json_t *pieces = faults_of(document, 1, &again);
    must(json_equal(document, kept));
    must((whole == NULL) == (pieces == NULL) && total == again);
    must(whole == NULL || json_equal(whole, pieces));
    return 0;
}
