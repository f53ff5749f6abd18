/*
 * base/thread.c - see thread.h.
 */
#include "base/thread.h"

void thread_signals_off(sigset_t *out_before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, out_before); /* inherited by a new thread */
}

void thread_signals_back(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

int thread_begin(pthread_t *out, size_t stack_bytes, void *(*fn)(void *arg), void *arg)
{
    sigset_t before;
    pthread_attr_t attr;
    pthread_t thread;
    int error = pthread_attr_init(&attr);
    if (error != 0)
        return error;
    if (out == NULL)
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (stack_bytes > 0)
        error = pthread_attr_setstacksize(&attr, stack_bytes);
    thread_signals_off(&before);
    if (error == 0)
        error = pthread_create(out != NULL ? out : &thread, &attr, fn, arg);
    thread_signals_back(&before);
    pthread_attr_destroy(&attr);
    return error;
}
