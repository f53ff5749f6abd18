#pragma once
/*
 * datapath/facts.h - members of an inventory as they are written down: what is unknown is left out,
 * what a device claims about itself is made harmless.
 */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/*
 * A text that stands for "not known": "", "N/A", "unknown", "Default string", zeros ("0.0.0",
 * "0000:0000:0000:0000"), all ones ("255.255.65535", "ff:ff:ff:ff:ff:ff"), a serial number made of
 * a MAC address without its own half ("00-01-00-ff-ff-00-00-00").
 */
bool fact_is_placeholder(const char *text);

/* Sets a text, blanks at both ends cut, bytes that no reader takes replaced, not longer than an
 * inventory's texts are. Nothing when it is NULL or a placeholder. */
void fact_text(json_t *object, const char *key, const char *text);
/* Nothing when value < least. */
void fact_int(json_t *object, const char *key, int64_t value, int64_t least);
void fact_bool(json_t *object, const char *key, bool value);
/* Takes `value` over; nothing when it is NULL or an empty object or array. */
void fact_part(json_t *object, const char *key, json_t *value);

/* Appends {"subject", "problem"}; `problems` may be NULL. */
void fact_problem(json_t *problems, const char *subject, const char *text);
