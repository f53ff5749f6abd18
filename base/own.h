#pragma once
/*
 * base/own.h - ownership of pointers in locals.
 *
 * OWN(plan) struct plan *p = NULL;    freed by plan_free() when the scope ends
 * *out = GIVE(p);                     hands the pointer over, leaves NULL behind
 *
 * A type takes part by OWN_DEFINE(plan, struct plan *, plan_free) once, beside its _free
 * in its header. _free(NULL) must be legal.
 */

#include <stddef.h>
#include <stdlib.h>

#include <jansson.h>

#define OWN_DEFINE(name, type, free_fn)                                                            \
    static inline void own_##name##_cleanup(type *p)                                               \
    {                                                                                              \
        if (*p != NULL)                                                                            \
            free_fn(*p);                                                                           \
    }

#define OWN(name) __attribute__((cleanup(own_##name##_cleanup)))

#define GIVE(p)                                                                                    \
    __extension__({                                                                                \
        __typeof__(p) give_taken_ = (p);                                                           \
        (p) = NULL;                                                                                \
        give_taken_;                                                                               \
    })

OWN_DEFINE(mem, void *, free)
OWN_DEFINE(str, char *, free)
OWN_DEFINE(json, json_t *, json_decref)
