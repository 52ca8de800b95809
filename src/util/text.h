/* Text in a buffer of fixed size. */
#ifndef GEMM_TEXT_H
#define GEMM_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Appends to `text`, a string in a buffer of `size` bytes. Returns false when not all of it fits;
 * the buffer then holds the part that fits, and is still a string.
 */
bool gemm_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
