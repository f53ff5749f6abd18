/*
 * tests/api/stepped_clock.c - preloaded into a server under test: its clocks of the day and of the
 * time since boot are ahead by the seconds that stand, as an int64_t, in the file $STEPPED_CLOCK.
 * CLOCK_MONOTONIC, by which threads wait, stays as it is.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

static const _Atomic int64_t *ahead_s;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("STEPPED_CLOCK");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    void *page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*ahead_s), PROT_READ, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        _exit(99); /* a test must not pass with the clock of now */
    close(fd);
    ahead_s = page;
}

SHOWN int clock_gettime(clockid_t id, struct timespec *now)
{
    long rc = syscall(SYS_clock_gettime, id, now);
    if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_BOOTTIME) && ahead_s != NULL)
        now->tv_sec += atomic_load(ahead_s);
    return (int)rc;
}

SHOWN int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

SHOWN time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}
