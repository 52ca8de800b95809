/* SPDX-License-Identifier: MIT */
/*
 * Are two detections the same? This compares what `darknet detect` gives: lines "name: NN%", and
 * the drawing with its boxes. A sum in another order is rounded differently: this may move a
 * percentage by one and a box by a pixel. More than that is another result.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include <stddef.h>

typedef enum sameness {
    SAME,               /* nothing differs */
    WITHIN,             /* within the tolerance */
    BORDERLINE,         /* a label at the threshold is on one side only: drawings cannot agree */
    DIFFERENT,
    INCOMPARABLE        /* no memory, or a drawing that cannot be decoded */
} sameness;

typedef struct compare_tolerance {
    double points;      /* of a label's percentage */
    double threshold;   /* a label may be missing this close to Darknet's threshold, in percent */
    int reach;          /* pixels: how far away a pixel may find its like */
    int level;          /* of 255: how unlike is unlike; above the noise of JPEG */
    int pixels;         /* how many pixels may find nothing like them: one block of JPEG */
} compare_tolerance;

extern const compare_tolerance compare_default;

/* Label lines of A and B, in any order. `why` gets the first difference. */
sameness compare_labels(const char *a, const char *b, const compare_tolerance *tolerance,
                        char *why, size_t size);

/* Two image files in memory. */
sameness compare_drawings(const unsigned char *a, size_t na, const unsigned char *b, size_t nb,
                          const compare_tolerance *tolerance, char *why, size_t size);

/* The number of lines that are labels. */
size_t compare_count(const char *text);

#endif
