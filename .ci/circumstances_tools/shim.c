// A preloaded library with odd answers of the C library. SHIM names the answer, and SHIM_NUMBER its number.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int shim(const char *name) {
    const char *value = getenv("SHIM");
    return value && !strcmp(value, name);
}

static int number(const char *name) {
    const char *value = getenv(name);
    return value ? atoi(value) : 0;
}

// read: read number SHIM_NUMBER of the sub-libraries of cuDNN fails with the error SHIM_ERROR.
static int fails(int fd) {
    static atomic_long reads;
    if (!shim("read")) return 0;
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) < 0 || !strstr(path, "/libcudnn_")) return 0;
    return ++reads == number("SHIM_NUMBER");
}

#define READ(name, parameters, arguments) \
    ssize_t name parameters { \
        ssize_t (*next) parameters = dlsym(RTLD_NEXT, #name); \
        if (fails(fd)) { errno = number("SHIM_ERROR"); return -1; } \
        return next arguments; \
    }
READ(read, (int fd, void *into, size_t size), (fd, into, size))
READ(pread, (int fd, void *into, size_t size, off_t at), (fd, into, size, at))
READ(pread64, (int fd, void *into, size_t size, off64_t at), (fd, into, size, at))

// frozen: the clock stands still. slow, fast: it runs at a hundredth or a hundred times the speed. back: it jumps an hour
// back now and then. future: it is 30 years ahead.
int clock_gettime(clockid_t clock, struct timespec *time) {
    static atomic_long calls;
    static struct timespec begin[16];
    int (*next)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int done = next(clock, time);
    if (done || clock < 0 || clock >= 16) return done;
    if (!begin[clock].tv_sec) begin[clock] = *time;
    double passed = (time->tv_sec - begin[clock].tv_sec) + (time->tv_nsec - begin[clock].tv_nsec) / 1e9;
    if (shim("frozen")) *time = begin[clock];
    if (shim("back") && ++calls % 7 == 0) time->tv_sec -= 3600;
    if (shim("future")) time->tv_sec += 946080000;
    double speed = shim("slow") ? 0.01 : shim("fast") ? 100 : 0;
    if (speed) {
        time->tv_sec = begin[clock].tv_sec + (long)(passed * speed) + 1;
        time->tv_nsec = (long)(passed * speed * 1e9) % 1000000000;
    }
    return done;
}

// heap: the program has SHIM_NUMBER MiB of data, and a child process changes all of it when it opens a library. The
// program has as much memory that no child shares, so that it is the larger process.
static char *heap;
static size_t heap_size;
static pid_t program;

__attribute__((constructor)) static void fill_heap(void) {
    if (!shim("heap")) return;
    program = getpid();
    heap_size = (size_t)number("SHIM_NUMBER") << 20;
    heap = mmap(NULL, 2 * heap_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(heap + heap_size, heap_size, MADV_DONTFORK);
    memset(heap, 1, 2 * heap_size);
}

// names: cuDNN's sub-libraries are in the directory SHIM_FOLDER, which no search path contains.
void *dlopen(const char *name, int flags) {
    char path[4096];
    void *(*next)(const char *, int) = dlsym(RTLD_NEXT, "dlopen");
    if (heap && getpid() != program) memset(heap, 2, heap_size);
    if (name && shim("names") && strstr(name, "libcudnn")) {
        const char *file = strrchr(name, '/');
        snprintf(path, sizeof path, "%s/%s", getenv("SHIM_FOLDER"), file ? file + 1 : name);
        name = path;
    }
    return next(name, flags);
}
