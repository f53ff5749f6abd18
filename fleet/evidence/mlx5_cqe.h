#pragma once
/*
 * fleet/evidence/mlx5_cqe.h - a completion in error as libmlx5 prints it, also between the lines of
 * other logs. Private to fleet/evidence/.
 */

#include <stdbool.h>

#include "fleet/evidence/reader.h"

/* "mlx5: n1: got completion with error:" */
bool mlx5_cqe_begins(const struct evidence_job *job, size_t i);

/* Four words of eight hexadecimal digits: 16 bytes of it. */
bool mlx5_cqe_row(struct slice line);

/* Puts what the completion at line i says; the line behind it. */
size_t mlx5_cqe_read(struct evidence_job *job, size_t i);
