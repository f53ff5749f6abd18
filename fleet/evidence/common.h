#pragma once
/*
 * fleet/evidence/common.h - what several readers judge alike. Private to fleet/evidence/.
 */

#include "fleet/evidence/counter.h"
#include "fleet/evidence/reader.h"

#define LINK_DOWNS_MANY 10 /* since the counter was cleared */
#define SYMBOLS_MANY    10 /* symbol errors since a reset that may be long ago: as ibqueryerrors */

/* "mlx5_0", "roceP2p1s0f0", "<RDMA-NIC-2>": letters, digits and _-.: up to 63 bytes. */
bool is_device_name(struct slice s);
/* "0000:3b:00.0" or "3b:00.0"; out (14 bytes) with the domain. */
bool is_pci_address(struct slice s, char out[16]);

/* Fact "firmware" on the job's subject; all zeros and such are unknown. A finding when the card's
 * family has a known long-term release that is newer. */
void put_firmware(struct evidence_job *job, size_t line, struct slice version);

/* Findings of a port that does not carry traffic, by its physical state ("Polling", "5: LinkUp",
 * "LINK_UP", "DISABLED"). "" = not told; `state` as the tool says it ("Active", "4: ACTIVE"). */
void judge_port(struct evidence_job *job, size_t line, struct slice state, struct slice physical);

/* Facts and findings of IB and RDMA counters, under the job's subject. False: no such row. */
bool put_rdma_counter(struct evidence_job *job, size_t line, struct slice name, struct slice value);

/* "00-01-00-ff-ff-00-00-00": a serial number of devlink that nobody ever set. */
bool devlink_placeholder(struct slice serial);

/* "mtu 1024" of an RDMA port whose other side is Ethernet and whose device is hardware. */
void judge_mtu(struct evidence_job *job, size_t line, uint64_t active, uint64_t max);

/* Subject "netdev NAME" by the command's word behind one of the options (NULL-terminated), or by
 * the heading above; "netdev" where nobody says it. */
void netdev_subject(struct evidence_job *job, const char *const options[]);

/* The same by a line "Pause parameters for eth0:"; `words` is what stands before the name. False:
 * another line. */
bool netdev_headline(struct evidence_job *job, size_t i, const char *words);

/* PREFIX_KEY and the suffix, lower case, what is neither letter nor digit as one underscore:
 * "ring", "RX Mini", "_max": "ring_rx_mini_max". A long key is cut. */
void fact_name(const char *prefix, struct slice key, const char *suffix,
               char out[EVIDENCE_NAME_MAX]);

/* "pci/0000:af:00.0" or "pci/0000:af:00.0/1" of devlink: sets the job's subject. */
bool devlink_subject(struct evidence_job *job, struct slice handle);
