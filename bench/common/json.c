/* SPDX-License-Identifier: MIT */
/* The JSON that benchmarks write: see json.h. */
#include "common/json.h"

#include <math.h>

void json_string(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; ++text) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fprintf(out, "\\%c", c);
        else if (c < 0x20) fprintf(out, "\\u%04x", c);
        else putc(c, out);
    }
    putc('"', out);
}

void json_field(FILE *out, const char *key, const char *value)
{
    fprintf(out, "\"%s\": ", key);
    json_string(out, value);
}

void json_number(FILE *out, const char *key, double value)
{
    if (isfinite(value)) fprintf(out, "\"%s\": %.9g", key, value);
    else fprintf(out, "\"%s\": null", key);
}

void json_numbers(FILE *out, size_t n, const char *const keys[], const double values[])
{
    for (size_t i = 0; i < n; ++i) {
        if (i) fputs(", ", out);
        json_number(out, keys[i], values[i]);
    }
}
