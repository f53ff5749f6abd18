#pragma once
/*
 * server/speaker.h - an agent speaks for its own node alone.
 */

#include <stdbool.h>

struct request;

/* The caller is an agent. False: 403 `wrong-node` is replied and counted as a denial. */
bool speaker_is_named(struct request *request, const char *named); /* in a document; NULL = none */
bool speaker_is_in_path(struct request *request);                  /* its first parameter */
