/* Preloaded (LD_PRELOAD) into a process, it moves the wall clock by CLOCK_OFFSET_S seconds, or by those in the file
   CLOCK_OFFSET_FILE, a 64-bit integer that may change while the process runs. The monotonic clock stays. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* file_s(const char* path) {
    static const volatile int64_t* mapped;
    if (mapped) return mapped;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) abort();
    void* found = mmap(NULL, sizeof *mapped, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (found == MAP_FAILED) abort();
    return mapped = (const volatile int64_t*)found;
}

static long offset_s(void) {
    const char* path = getenv("CLOCK_OFFSET_FILE");
    if (path) return (long)*file_s(path);
    const char* text = getenv("CLOCK_OFFSET_S");
    return text ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
    static int (*real)(clockid_t, struct timespec*);
    if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += offset_s();
    return status;
}

int gettimeofday(struct timeval* now, void* zone) {
    struct timespec exact;
    int status = clock_gettime(CLOCK_REALTIME, &exact);
    (void)zone;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return status;
}

time_t time(time_t* now) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now) *now = exact.tv_sec;
    return exact.tv_sec;
}
