/*
 * base/thread.c - see thread.h.
 */
#include "base/thread.h"

#include <signal.h>

int thread_begin(pthread_t *out, size_t stack_bytes, void *(*fn)(void *arg), void *arg)
{
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_t thread;
    int error = pthread_attr_init(&attr);
    if (error != 0)
        return error;
    if (out == NULL)
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (stack_bytes > 0)
        error = pthread_attr_setstacksize(&attr, stack_bytes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* inherited by the new one */
    if (error == 0)
        error = pthread_create(out != NULL ? out : &thread, &attr, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return error;
}
