/*
 * Preloaded, it counts the steps in which the program KILL_IN changes files or starts another program, notes each in
 * the file KILL_LOG, and ends the program with SIGKILL before the one that KILL_AT numbers; of a write to a file the
 * first half is done by then.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A copy of the program that it forks has steps of its own, which do not count. */
static pid_t own;

__attribute__((constructor)) static void begin(void) { own = getpid(); }

/* Whether the program ends in this step. */
static int is_last(const char *what, const char *path) {
    static int steps;
    const char *name = getenv("KILL_IN"), *log = getenv("KILL_LOG"), *at = getenv("KILL_AT");
    if (getpid() != own || name == NULL || strcmp(name, program_invocation_short_name) != 0)
        return 0;
    int step = __sync_add_and_fetch(&steps, 1);
    char line[8192];
    int length = snprintf(line, sizeof line, "%s %s\n", what, path);
    long file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    syscall(SYS_write, file, line, length < (int)sizeof line ? length : (int)sizeof line - 1);
    syscall(SYS_close, file);
    return at != NULL && step == atoi(at);
}

static void step(const char *what, const char *path) {
    if (is_last(what, path))
        kill(getpid(), SIGKILL);
}

#define REAL(name, ...) ((int (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

#define WITH_PATH(name)                              \
    int name(const char *path) {                     \
        step(#name, path);                           \
        return REAL(name, const char *)(path);       \
    }
WITH_PATH(unlink)
WITH_PATH(rmdir)

#define WITH_MODE(name)                              \
    int name(const char *path, mode_t mode) {        \
        step(#name, path);                           \
        return REAL(name, const char *, mode_t)(path, mode); \
    }
WITH_MODE(mkdir)
WITH_MODE(chmod)

#define WITH_TWO(name)                               \
    int name(const char *from, const char *to) {     \
        step(#name, to);                             \
        return REAL(name, const char *, const char *)(from, to); \
    }
WITH_TWO(rename)
WITH_TWO(symlink)
WITH_TWO(link)

int unlinkat(int dir, const char *path, int flags) {
    step("unlinkat", path);
    return REAL(unlinkat, int, const char *, int)(dir, path, flags);
}

int fchmod(int file, mode_t mode) {
    step("fchmod", "");
    return REAL(fchmod, int, mode_t)(file, mode);
}

#define OPEN(name)                                   \
    int name(const char *path, int flags, ...) {     \
        va_list rest;                                \
        va_start(rest, flags);                       \
        mode_t mode = va_arg(rest, mode_t);          \
        va_end(rest);                                \
        if ((flags & O_ACCMODE) != O_RDONLY)         \
            step("open", path);                      \
        return REAL(name, const char *, int, mode_t)(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int file, const void *bytes, size_t count) {
    struct stat data;
    if (file > 2 && fstat(file, &data) == 0 && S_ISREG(data.st_mode) && is_last("write", "")) {
        syscall(SYS_write, file, bytes, count / 2);
        kill(getpid(), SIGKILL);
    }
    return syscall(SYS_write, file, bytes, count);
}

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *there, size_t count, unsigned flags) {
    if (is_last("copy", "")) {
        struct stat data;
        fstat(from, &data);
        syscall(SYS_copy_file_range, from, at, to, there, data.st_size / 2, flags);
        kill(getpid(), SIGKILL);
    }
    return syscall(SYS_copy_file_range, from, at, to, there, count, flags);
}

#define SPAWN(name)                                  \
    int name(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, \
             const posix_spawnattr_t *attributes, char *const words[], char *const environment[]) { \
        step("spawn", path);                         \
        return REAL(name, pid_t *, const char *, const posix_spawn_file_actions_t *, \
                    const posix_spawnattr_t *, char *const *, char *const *)( \
            pid, path, actions, attributes, words, environment); \
    }
SPAWN(posix_spawn)
SPAWN(posix_spawnp)

pid_t fork(void) {
    step("fork", "");
    return ((pid_t (*)(void))dlsym(RTLD_NEXT, "fork"))();
}
