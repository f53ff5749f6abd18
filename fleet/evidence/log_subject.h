#pragma once
/*
 * fleet/evidence/log_subject.h - whom a kernel's message is about. Private to fleet/evidence/.
 */

#include <stdbool.h>

#include "fleet/evidence/reader.h"

#define PCI_TEXT_MAX 16

/* A PCI address in s ("0000:3b:00.0", "00000000:3B:00.0", "0000:3b:00", "3b:00.0") as
 * "0000:3b:00.0"; function 0 where it has none. The whole of s must be one. */
bool pci_text(struct slice s, char out[PCI_TEXT_MAX]);

/* The first such address of a text, between other words; it must have its domain. */
bool pci_find(struct slice text, char out[PCI_TEXT_MAX], struct slice *behind);

/* Sets the job's subject from the head of a message: "pci A", "gpu A", "netdev N", "rdma N",
 * "process P", or "host". */
void log_subject(struct evidence_job *job, struct slice message);
