/* SPDX-License-Identifier: MIT */
/*
 * A program on two pipes, as the A/B harness runs it.
 *
 * A child is in its own process group, so that Ctrl-C reaches the harness alone. It ends with the
 * harness (Linux). Its standard error goes to a file in its folder; the last lines of it are quoted
 * when the child ends unexpectedly.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct process {
    pid_t pid;              /* 0: none */
    int in, out;            /* its standard input and output, -1: closed */
    char *text;             /* what it has printed since the last process_forget, terminated */
    size_t length, room;
    char errors[4096];      /* the file that its standard error goes to */
} process;

typedef enum process_state {
    PROCESS_READY,          /* the awaited text has come */
    PROCESS_ENDED,          /* end of its output */
    PROCESS_LATE,           /* nothing for too long */
    PROCESS_STOPPED,        /* *stop was set */
    PROCESS_FAILED          /* errno says why */
} process_state;

/* Runs argv[0] in `dir` with `settings` (NAME=value, NULL at the end) over the environment. 0 when
   started; else -1 with errno. A program that cannot be executed ends with status 127. */
int process_start(process *p, char *const argv[], char *const settings[], const char *dir);

/* Reads until the output ends with `awaited` (NULL: until its end). `seconds` bound the wait. */
process_state process_await(process *p, const char *awaited, double seconds,
                            const volatile sig_atomic_t *stop);

int process_write(process *p, const char *text);    /* 0, or -1 with errno */
void process_forget(process *p);                    /* drops the text read so far */
void process_pause(process *p);                     /* no effect where nothing could undo it */
void process_resume(process *p);

/* Waits for its end; returns the wait status, or -1. Kills it first where `seconds` pass. */
int process_finish(process *p, double seconds);

/* Kills what still runs and frees all. Fine on a process that never started. */
void process_close(process *p);

/* The last lines that it wrote to its standard error, indented, or "". */
void process_last_words(const process *p, char *text, size_t size);

#endif
