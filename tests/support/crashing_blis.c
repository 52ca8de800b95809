/*
 * A library with the names of BLIS that crashes where CRASH says: load, version, threads or sgemm.
 * Without CRASH it multiplies nothing and so is wrong.
 */
#include <stdlib.h>
#include <string.h>

static volatile int *const nowhere;

static void crash_at(const char *place)
{
    const char *where = getenv("CRASH");
    if (where && !strcmp(where, place)) *nowhere = 1;
}

__attribute__((constructor)) static void load(void) { crash_at("load"); }

const char *bli_info_get_version_str(void);
const char *bli_info_get_version_str(void)
{
    crash_at("version");
    return "of the tests";
}

void bli_thread_set_num_threads(long);
void bli_thread_set_num_threads(long n)
{
    (void)n;
    crash_at("threads");
}

void cblas_sgemm(void);
void cblas_sgemm(void) { crash_at("sgemm"); }
