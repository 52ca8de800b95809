/* SPDX-License-Identifier: MIT */
/*
 * OpenCL's functions, found at run time: see loader.h.
 */
#include "cl/device/loader.h"

#include "cl/device/error.h"
#include "util/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

gemm_cl_functions gemm_cl_function;

/* In this order: loaders of desktop Linux; then of Android, where drivers lie in the vendor's
   folders; then Qualcomm's driver for Linux. */
static const char *const usual[] = {
    "libOpenCL.so.1", "libOpenCL.so", "/vendor/lib64/libOpenCL.so",
    "/system/vendor/lib64/libOpenCL.so", "libOpenCL_adreno.so.1"};

typedef struct search {
    const gemm_cl_configuration *settings;
    gemm_text tried;            /* "; NAME what it lacks" for each library */
    bool broken;                /* something is there that should have worked */
    void *last;                 /* the library that was loaded last */
} search;

/* ---- one library ---- */

/* dlopen as Android's apps need it for a vendor's driver, which their own namespace may hide. NULL:
   there is no such function, or it does not load the file either. */
static void *open_as_vendor(const char *path)
{
    typedef void *load(const char *, int);
    load *function = NULL;
    void *support = dlopen("libvndksupport.so", RTLD_NOW | RTLD_LOCAL);
    void *symbol = support ? dlsym(support, "android_load_sphal_library") : NULL;
    memcpy(&function, &symbol, sizeof symbol);
    return function ? function(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* Sets one member. dlsym returns a pointer to data, also for a function. */
static void find(void *library, const char *name, void *member, const char **missing)
{
    void *symbol = dlsym(library, name);
    memcpy(member, &symbol, sizeof symbol);
    if (!symbol && !*missing) *missing = name;
}

/* All functions. Returns the name of one that the library lacks, or NULL. */
static const char *find_all(void *library)
{
    const char *missing = NULL;
#define FIND(name) find(library, "cl" #name, &gemm_cl_function.name, &missing);
    GEMM_CL_FUNCTIONS(FIND)
#undef FIND
    return missing;
}

/* Adds the platform's name. Returns whether the platform is PoCL. */
static bool add_name(cl_platform_id platform, gemm_text *why)
{
    size_t bytes = 0;
    char *name = NULL;
    if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, 0, NULL, &bytes) == CL_SUCCESS)
        name = calloc(1, bytes + 1);
    if (name && clGetPlatformInfo(platform, CL_PLATFORM_NAME, bytes, name, NULL) != CL_SUCCESS)
        *name = '\0';
    gemm_text_add(why, "%s", name ? name : "");
    const bool pocl = name && strstr(name, "Portable Computing Language");
    free(name);
    return pocl;
}

/* PoCL has no device where it cannot write compiled kernels. */
static void explain_pocl(const gemm_cl_configuration *c, gemm_text *why)
{
    gemm_text folder = {0};
    if (c->pocl_dir && *c->pocl_dir)
        gemm_text_add(&folder, "%s", c->pocl_dir);
    else if (c->cache_home && *c->cache_home)
        gemm_text_add(&folder, "%s/pocl/kcache", c->cache_home);
    else if (c->home)
        gemm_text_add(&folder, "%s/.cache/pocl/kcache", c->home);
    const char *path = gemm_text_whole(&folder);
    const bool named = path && *path;
    const char *unmade = named ? gemm_make_folder(path) : NULL;
    if (named && access(path, W_OK))
        gemm_text_add(why, ", because it cannot write its folder %s (%s); POCL_CACHE_DIR names "
                           "another one", path, unmade ? unmade : strerror(errno));
    gemm_text_free(&folder);
}

/* Whether the platform has a device; adds why not. */
static bool has_device(cl_platform_id platform, search *s)
{
    cl_uint devices = 0;
    const cl_int error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &devices);
    if (error == CL_SUCCESS && devices) return true;
    s->broken = true;
    gemm_text_add(&s->tried, ", its platform ");
    const bool pocl = add_name(platform, &s->tried);
    gemm_text_add(&s->tried, " has no device");
    if (error != CL_SUCCESS && error != CL_DEVICE_NOT_FOUND)
        gemm_text_add(&s->tried, " (%s)", gemm_cl_error_name(error));
    else if (pocl)
        explain_pocl(s->settings, &s->tried);
    return false;
}

/* A loader without memory finds no driver, and does not say why. */
static void explain_memory(search *s)
{
    enum { ENOUGH = 256 << 20 };    /* bytes, more than a driver with its compiler takes */
    void *room = mmap(NULL, ENOUGH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room != MAP_FAILED) {
        munmap(room, ENOUGH);
        return;
    }
    s->broken = true;
    gemm_text_add(&s->tried, ", and little memory is left for a driver");
}

/* Whether a platform of the library has a device; adds why not. */
static bool has_devices(search *s)
{
    enum { NO_PLATFORM = -1001 };   /* CL_PLATFORM_NOT_FOUND_KHR */
    cl_platform_id *platforms = NULL;
    cl_uint count = 0;
    bool has = false;
    cl_int error = clGetPlatformIDs(0, NULL, &count);
    if (error == CL_SUCCESS && count) {
        platforms = calloc(count, sizeof *platforms);
        error = platforms ? clGetPlatformIDs(count, platforms, NULL) : CL_OUT_OF_HOST_MEMORY;
    }
    if (error != CL_SUCCESS || !count) {
        gemm_text_add(&s->tried, " has no platform");
        explain_memory(s);
    }
    if (error != CL_SUCCESS && error != NO_PLATFORM) {
        s->broken = true;
        gemm_text_add(&s->tried, " (%s)", gemm_cl_error_name(error));
    }
    for (cl_uint i = 0; error == CL_SUCCESS && !has && i < count; ++i)
        has = has_device(platforms[i], s);
    free(platforms);
    return has;
}

/* ---- all libraries ---- */

/* Takes a library's functions if one of its platforms has a device; adds why not. */
static bool try_library(void *library, const char *name, search *s)
{
    const char *missing = find_all(library);
    gemm_text_add(&s->tried, "; %s", name);
    if (missing) gemm_text_add(&s->tried, " has no %s, a function of OpenCL 1.2", missing);
    return !missing && has_devices(s);
}

static bool try_file(const char *path, search *s)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *error = library ? NULL : dlerror();
    if (!library) gemm_text_add(&s->tried, "; %s", error ? error : path);
    if (!library) library = open_as_vendor(path);
    else if (library == s->last) {
        gemm_text_add(&s->tried, "; %s is the same", path);
        return false;
    }
    s->last = library;
    return library && try_library(library, path, s);
}

static bool try_usual(search *s)
{
    if (dlsym(RTLD_DEFAULT, "clGetPlatformIDs") &&
        try_library(RTLD_DEFAULT, "the OpenCL of this process", s))
        return true;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; ++i)
        if (try_file(usual[i], s)) return true;
    return false;
}

bool gemm_cl_load(const gemm_cl_configuration *c, gemm_text *why)
{
    static bool loaded;
    const bool named = c->library && *c->library;
    search s = {.settings = c};
    if (!loaded) loaded = named ? try_file(c->library, &s) : try_usual(&s);
    const char *tried = gemm_text_part(&s.tried) + (s.tried.length ? 2 : 0);
    if (!loaded && named)
        gemm_text_add(why, "GEMM_CL_LIBRARY=%s cannot be used: %s", c->library, tried);
    else if (!loaded && s.broken)
        gemm_text_add(why, "OpenCL does not work on this machine: %s", tried);
    else if (!loaded)
        gemm_text_add(why, "no OpenCL device on this machine: %s; install a driver, for CPUs for "
                           "example the package pocl-opencl-icd", tried);
    gemm_text_free(&s.tried);
    return loaded;
}
