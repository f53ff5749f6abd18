#pragma once
/*
 * datapath/sys/modparam_text.h - modprobe.d texts and module lists as strings; modparam.c's helper.
 */

#include <stdbool.h>

/* Whether modules.dep or modules.builtin lists a module ("-" and "_" are the same). */
bool modparam_listed(const char *list, const char *module);
