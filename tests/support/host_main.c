/* SPDX-License-Identifier: MIT */
/*
 * The program of a false Darknet. With an argument it loads this library for work(), as Python
 * does; without one it has work() itself.
 */
#include <dlfcn.h>
#include <stdio.h>

extern void work(void) __attribute__((weak));

int main(int argc, char **argv)
{
    union {
        void *data;
        void (*function)(void);
    } run = {.function = work};
    if (argc > 1) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        run.data = library ? dlsym(library, "work") : NULL;
    }
    if (!run.data) {
        fprintf(stderr, "host_main: no work()\n");
        return 2;
    }
    run.function();
    return 0;
}
