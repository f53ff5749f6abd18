#pragma once
/*
 * fleet/evidence/rules.h - the rules over what files say, as a table (doc/rules.md lists them).
 * Ids are public and never reused. Private to fleet/evidence/.
 */

#include "base/finding.h"

#define RULE_FCS_ERRORS "fcs-errors"

struct evidence_rule {
    const char *id;
    enum finding_severity severity;
    const char *what; /* that is wrong, one sentence */
    const char *hint; /* what to do */
};

/* Of a listed id; asserts that it is listed. */
const struct evidence_rule *evidence_rule_get(const char *id);
