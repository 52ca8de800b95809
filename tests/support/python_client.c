/* SPDX-License-Identifier: MIT */
/*
 * Calls the library of the wheel as the Python module does, where no Python runs:
 *
 *   python_client LIBRARY CFG WEIGHTS PICTURE
 *
 * Prints "class: NN%" for each box. A cfg and a picture that do not exist must come back as lines.
 */
#include "python/calls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *library;

static void *find(const char *name)
{
    void *found = dlsym(library, name);
    if (!found) fprintf(stderr, "%s\n", dlerror());
    if (!found) exit(1);
    return found;
}

static void need(int right, const char *why)
{
    if (right) return;
    fprintf(stderr, "python_client: %s\n", why);
    exit(1);
}

int main(int argc, char **argv)
{
    char why[PY_WHY_BYTES] = "";
    need(argc == 5, "LIBRARY CFG WEIGHTS PICTURE");
    library = dlopen(argv[1], RTLD_NOW);
    need(library != NULL, "the library cannot be loaded");
    int (*choose)(const char *, int, char *) = find("py_choose");
    int (*load)(py_network *, char *) = find("py_load");
    int (*detect)(py_pass *, char *) = find("py_detect");
    void (*unload)(py_network *) = find("py_unload");

    py_network none = {.cfg = "none.cfg", .weights = argv[3]};
    py_network n = {.cfg = argv[2], .weights = argv[3]};
    need(!choose("packed", 2, why), why);
    need(load(&none, why) && !strcmp(why, "Couldn't open file: none.cfg"), why);
    need(!load(&n, why), why);

    py_pass missing = {.net = n.net, .path = "none.jpg", .threshold = .5, .nms = .45};
    py_pass pass = {.net = n.net, .path = argv[4], .threshold = .5, .nms = .45};
    need(detect(&missing, why) && strstr(why, "none.jpg"), why);
    need(!detect(&pass, why), why);
    for (int i = 0; i < pass.count; ++i)
        printf("%d: %.0f%%\n", pass.boxes[i].index, pass.boxes[i].confidence * 100);
    unload(&n);
    return 0;
}
