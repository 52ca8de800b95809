/* SPDX-License-Identifier: MIT */
/*
 * A plugin of qemu-user: how often each block of instructions ran.
 *
 *   cc -shared -fPIC -o build/blocks.so bench/studies/qemu/blocks.c
 *   qemu-aarch64 -plugin build/blocks.so,out=FILE PROGRAM ...
 *
 * A block ends with a branch. FILE gets a line for each: its address, how often it ran, and its
 * instructions, all but the count in hexadecimal. Counts are right where one thread runs.
 *
 * The declarations are those of qemu's documentation of TCG plugins, version 1 of the interface.
 * So no header of qemu is needed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef struct qemu_info qemu_info;
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id,
                                           void (*)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int op, void *, uint64_t);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);

#define EXPORTED __attribute__((visibility("default")))
EXPORTED int qemu_plugin_version = 1;

typedef struct block {
    struct block *next;
    uint64_t address, count;
    size_t length;
    uint32_t code[];
} block;

static block *blocks;
static char path[4096];

static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
    (void)id;
    const size_t n = qemu_plugin_tb_n_insns(tb);
    block *b = calloc(1, sizeof *b + n * sizeof *b->code);
    if (!b) abort();
    b->address = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
    b->length = n;
    for (size_t i = 0; i < n; ++i)
        memcpy(&b->code[i], qemu_plugin_insn_data(qemu_plugin_tb_get_insn(tb, i)), 4);
    b->next = blocks;
    blocks = b;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, 0, &b->count, 1);
}

static void finished(plugin_id id, void *unused)
{
    (void)id, (void)unused;
    FILE *f = fopen(path, "w");
    if (!f) return;
    for (const block *b = blocks; b; b = b->next) {
        if (!b->count) continue;
        fprintf(f, "%llx %llu", (unsigned long long)b->address, (unsigned long long)b->count);
        for (size_t i = 0; i < b->length; ++i) fprintf(f, " %08x", (unsigned)b->code[i]);
        fputc('\n', f);
    }
    fclose(f);
}

EXPORTED int qemu_plugin_install(plugin_id id, const qemu_info *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; ++i) {
        if (!strncmp(argv[i], "out=", 4)) snprintf(path, sizeof path, "%s", argv[i] + 4);
    }
    if (!*path) return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finished, NULL);
    return 0;
}
