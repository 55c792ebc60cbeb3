/*
 * Loaded by LD_PRELOAD, this library does unusual things before main. GPU_PARENT is one of libcuda, cuinit, fork, threads.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *sleep_on(void *nothing) {
    for (;;)
        pause();
    return nothing;
}

__attribute__((constructor)) static void become(void) {
    const char *parent = getenv("GPU_PARENT");
    if (parent == NULL)
        return;
    if (strcmp(parent, "libcuda") == 0)
        dlopen("libcuda.so.1", RTLD_NOW);
    if (strcmp(parent, "cuinit") == 0 || strcmp(parent, "fork") == 0) {
        int (*start)(unsigned) = (int (*)(unsigned))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuInit");
        start(0);
    }
    if (strcmp(parent, "fork") == 0) {
        int status = 0;
        pid_t child = fork();
        if (child > 0) {
            waitpid(child, &status, 0);
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        }
    }
    for (int i = 0; i < 50 && strcmp(parent, "threads") == 0; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, sleep_on, NULL);
    }
}
