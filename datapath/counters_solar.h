#pragma once
/*
 * datapath/counters_solar.h - rows of queue pairs of Solar-RDMA, out of what their processes report
 * (solar/report.h), for counters_linux alone.
 *
 * device: "solar/" and the interface; number: 16 bits of the process's own number, then the queue
 * pair's; label: that of the folder. A pid is that of the process's own namespace.
 */

#include "datapath/counters.h"

void counters_tell_solar(const char *root, const struct counters_sink *sink);
