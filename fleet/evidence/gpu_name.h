#pragma once
/*
 * fleet/evidence/gpu_name.h - one name for what nvidia-smi calls differently as text (-q), as XML
 * (-q -x) and as columns (--query-gpu), and the rules over it. Private to fleet/evidence/.
 */

#include "fleet/evidence/reader.h"

/* A path of -q ("Remapped Rows/Pending"), of XML ("remapped_rows/remapped_row_pending") or a column
 * ("remapped_rows.pending") as a fact's name: the canonical one, or the path in small letters with
 * dots and underscores. */
void gpu_fact_name(struct slice path, char *out, size_t size);

/* The fact "12 MiB" as number and unit; and what the rules say of it. */
void gpu_put(struct evidence_job *job, size_t line, const char *name, struct slice value);

/* What is known of one GPU while its lines are read. */
struct gpu_seen {
    bool ecc, remap; /* there were such lines */
    uint64_t width, width_max;
    size_t width_line;
};
void gpu_judge(struct evidence_job *job, size_t line, const char *name, struct slice value,
               struct gpu_seen *seen);
/* At the end of a GPU of a whole report (-q): what it did not tell. */
void gpu_judge_end(struct evidence_job *job, size_t line, const struct gpu_seen *seen);

/* "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)": its name and UUID; the subject is "gpu 0". */
void gpu_put_listed(struct evidence_job *job, size_t i);
