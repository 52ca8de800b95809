/* SPDX-License-Identifier: MIT */
/* A network and a picture, whose forward passes are timed. */
#ifndef DETECT_SUBJECT_H
#define DETECT_SUBJECT_H

#include "darknet.h"

/* A turn of a contestant lasts about this long. */
#define SUBJECT_TURN_MS 40.

typedef struct subject {
    char name[64];              /* of the cfg */
    network *net;
    image input;
    double load_ms;             /* of reading the network */
} subject;

/* Ends the program with one line when a file of CFG[=WEIGHTS] cannot be read, because Darknet's own
   message may be lost. */
void subject_check(const char *program, const char *argument);

/* CFG[=WEIGHTS] with a batch of 1, and the picture as its input. Without weights it has Darknet's
   first ones, and a batch norm that passes its input on. */
subject subject_make(const char *argument, image picture);
void subject_free(subject *);

/* Milliseconds of a pass in a turn of several, when the threads of others are asleep. The first
   pass does not count, unless it is a long one: then it is the only one. */
double subject_turn(const subject *, int passes);

#endif
