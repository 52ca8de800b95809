/* SPDX-License-Identifier: MIT */
/*
 * Reads JSON on standard input and prints a line for each value, "path.to.0.it<TAB>value", so that
 * shell tests can look things up. Status 1 with the place of the first fault when it is no JSON.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[1 << 22];
static const char *at = text;
static char path[4096];

static void fail(const char *what)
{
    fprintf(stderr, "json_flat: %s at byte %ld: %.20s\n", what, (long)(at - text), at);
    exit(1);
}

static void skip_space(void)
{
    while (*at && strchr(" \t\r\n", *at)) ++at;
}

/* Copies a string's characters to `out`; escapes stay as they are. */
static void read_string(char *out, size_t size)
{
    size_t n = 0;
    if (*at++ != '"') fail("no string");
    while (*at != '"') {
        if ((unsigned char)*at < 32) fail("a control character in a string");
        if (*at == '\\' && !strchr("\"\\/bfnrtu", at[1])) fail("a bad escape");
        const int length = *at == '\\' ? 2 : 1;
        for (int i = 0; i < length; ++i, ++at)
            if (n + 1 < size) out[n++] = *at;
    }
    out[n] = '\0';
    ++at;
}

static void read_number(void)
{
    const char *from = at;
    if (*at == '-') ++at;
    if (*at == '0' && isdigit((unsigned char)at[1])) fail("a leading zero");
    if (!isdigit((unsigned char)*at)) fail("no value");
    char *end;
    strtod(from, &end);
    at = end;
    printf("%s\t%.*s\n", path, (int)(at - from), from);
}

static void read_value(void);

static void read_members(char close)
{
    const size_t before = strlen(path);
    ++at;
    skip_space();
    for (int i = 0; *at != close; ++i) {
        char name[256];
        snprintf(name, sizeof(name), "%d", i);
        if (close == '}') {
            read_string(name, sizeof(name));
            skip_space();
            if (*at++ != ':') fail("no colon");
        }
        snprintf(path + before, sizeof(path) - before, "%s%s", before ? "." : "", name);
        read_value();
        path[before] = '\0';
        skip_space();
        if (*at == ',') {
            ++at;
            skip_space();
            if (*at == close) fail("a comma too many");
        } else if (*at != close) {
            fail("neither comma nor end");
        }
    }
    ++at;
}

static void read_value(void)
{
    static const char *const words[] = {"null", "true", "false"};
    skip_space();
    if (*at == '{') { read_members('}'); return; }
    if (*at == '[') { read_members(']'); return; }
    if (*at == '"') {
        char value[4096];
        read_string(value, sizeof(value));
        printf("%s\t%s\n", path, value);
        return;
    }
    for (int i = 0; i < 3; ++i) {
        if (!strncmp(at, words[i], strlen(words[i]))) {
            printf("%s\t%s\n", path, words[i]);
            at += strlen(words[i]);
            return;
        }
    }
    read_number();
}

int main(void)
{
    text[fread(text, 1, sizeof(text) - 1, stdin)] = '\0';
    read_value();
    skip_space();
    if (*at) fail("more behind the end");
    return 0;
}
