#pragma once
/*
 * cli/problem.h - problems and findings of the server in words.
 */

#include <stdio.h>

#include <jansson.h>

/* An application/problem+json: what happened, each error with its place, rule, values and hint. */
void problem_print(FILE *out, long status, const json_t *problem);
/* A list of findings; nothing when it is empty or no list. */
void findings_print(FILE *out, const json_t *findings);
