#pragma once
/*
 * datapath/verbs/address.h - addresses as rdma_cm takes them. Private to datapath/verbs/.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* From IPv4 or IPv6 in numbers; false = it is neither, and *out is of no family. */
bool verbs_address(const char *text, uint16_t port, struct sockaddr_storage *out);
