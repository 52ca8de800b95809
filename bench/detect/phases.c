/* SPDX-License-Identifier: MIT */
/*
 * Where the time of ./darknet goes: linked into it with --wrap (mk/programs.mk), so that Darknet's
 * own code is measured as it is.
 *
 * Each call below writes a line to file descriptor 3: its phase, milliseconds from the start of
 * the process to its begin and its end, and "main" or "beside", the thread. "read" and "fit" are
 * the picture's thread. It waits for the network's sizes between them. The end of "wait" helps
 * with "fit".
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "darknet.h"
#include "util/clock.h"

static double started;
static pthread_t main_thread;
static bool picture_starts;     /* the next thread is the picture's */
static double fit_begins;

__attribute__((constructor)) static void start(void)
{
    started = gemm_now_ms();
    main_thread = pthread_self();
}

static void say(const char *phase, double begin)
{
    dprintf(3, "%s %.3f %.3f %s\n", phase, begin - started, gemm_now_ms() - started,
            pthread_equal(pthread_self(), main_thread) ? "main" : "beside");
}

/* A function without a result, and one with it: what --wrap calls, around what it was. */
#define PHASE(phase, name, parameters, arguments)                                                  \
    void __real_##name parameters;                                                                 \
    void __wrap_##name parameters;                                                                 \
    void __wrap_##name parameters                                                                  \
    {                                                                                              \
        const double begin = gemm_now_ms();                                                        \
        __real_##name arguments;                                                                   \
        say(phase, begin);                                                                         \
    }
#define PHASE_OF(type, phase, name, parameters, arguments)                                         \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        const double begin = gemm_now_ms();                                                        \
        type result = __real_##name arguments;                                                     \
        say(phase, begin);                                                                         \
        return result;                                                                             \
    }

PHASE_OF(image **, "letters", load_alphabet_later, (void), ())
PHASE_OF(network *, "cfg", parse_network_cfg, (char *file), (file))
PHASE("weights", load_weights, (network *net, char *file), (net, file))
PHASE("prepare", picture_prepare, (picture *p, network *net), (p, net))
PHASE_OF(image, "wait", picture_fitted, (picture *p, image *sized), (p, sized))
PHASE_OF(float *, "pass", network_predict, (network *net, float *input), (net, input))
PHASE("boxes", say_detections, (detection *d, int n, float thresh, char **names, int classes),
      (d, n, thresh, names, classes))
PHASE("drawing", picture_draw,
      (picture *p, detection *d, int n, float thresh, char **names, image **letters, int classes),
      (p, d, n, thresh, names, letters, classes))
PHASE("writing", picture_save, (picture *p, const char *name), (p, name))

/* ---- the picture's thread ---- */

picture *__real_picture_start(char *file);
picture *__wrap_picture_start(char *file);
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __real_sem_wait(sem_t *);
int __wrap_sem_wait(sem_t *);

static void *(*prepare_picture)(void *);
static double read_begins;

picture *__wrap_picture_start(char *file)
{
    picture_starts = true;
    picture *p = __real_picture_start(file);
    picture_starts = false;
    return p;
}

int __wrap_sem_wait(sem_t *s)
{
    if (pthread_equal(pthread_self(), main_thread)) return __real_sem_wait(s);
    say("read", read_begins);
    const int status = __real_sem_wait(s);
    fit_begins = gemm_now_ms();
    return status;
}

static void *run_timed(void *argument)
{
    read_begins = gemm_now_ms();
    void *result = prepare_picture(argument);
    say("fit", fit_begins);
    return result;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *a, void *(*run)(void *),
                          void *argument)
{
    if (!picture_starts) return __real_pthread_create(thread, a, run, argument);
    prepare_picture = run;
    return __real_pthread_create(thread, a, run_timed, argument);
}
