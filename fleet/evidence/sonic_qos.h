#pragma once
/*
 * fleet/evidence/sonic_qos.h - rules over the QoS tables of SONiC. Private to fleet/evidence/.
 */

#include <jansson.h>

#include "fleet/evidence/reader.h"

/* Over a whole config_db: maps with holes, DSCPs in lossy classes, lossless queues without ECN. */
void sonic_judge(struct evidence_job *job, size_t line, const json_t *root);

/* Thresholds of one profile of WRED and ECN; NULL = not told. */
void sonic_judge_profile(struct evidence_job *job, size_t line, const char *ecn, const char *min,
                         const char *max, const char *probability);
