#pragma once
/*
 * fleet/evidence/manifest.h - rules over the objects of NIC and SR-IOV operators in Kubernetes.
 * Private to fleet/evidence/.
 */

#include "fleet/evidence/yaml_part.h"

/* Keys that a kind does not know, and values that cannot be right, of part->root. The job's subject
 * is the object's. */
void manifest_judge(struct evidence_job *job, const struct yaml_part *part, const char *kind);
