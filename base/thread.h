#pragma once
/*
 * base/thread.h - threads that take no signals: those are the business of the thread that runs the
 * loop, whatever it has blocked by then.
 */

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* Begins fn(arg) with all signals blocked. stack_bytes 0 = the system's own size. With out == NULL
 * nobody joins it. 0, or the errno of why there is none. */
int thread_begin(pthread_t *out, size_t stack_bytes, void *(*fn)(void *arg), void *arg);

/* Around a call into a library that begins threads of its own: they take no signals either. */
void thread_signals_off(sigset_t *out_before);
void thread_signals_back(const sigset_t *before);
