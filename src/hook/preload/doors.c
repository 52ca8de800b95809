/* SPDX-License-Identifier: MIT */
/*
 * libdarknet-layers.so: Darknet's functions under their own names, so that a preload replaces them.
 *
 *   make_*_layer -> l.forward = a door -> hook_enter -> row                  return to Darknet
 *                                                    -> nothing is taken     jump to Darknet's own
 *
 * Darknet in C passes a layer by value, and its size is only known once the layout is verified. So
 * a door is written in assembler. It leaves the arguments where they are, and jumps.
 *
 * The layout of `layer` and of a pass is verified with the values that Darknet passes to a
 * convolution: sizes that must agree, the function pointers, and the whole array of layers. Until
 * then nothing is trusted, and memory is only read where the kernel says that it can be. A Darknet
 * of another layout runs its own code, and one line on stderr says so. Where a network does not
 * tell, as one of recurrent layers alone, Darknet's own code runs too, and the next one decides.
 */
#include "darknet_gemm.h"
#include "hook/hook.h"
#include "hook/preload/doors.h"
#include "hook/preload/pass.h"
#include "hook/preload/slots.h"
#include "util/forked.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef HOOK_ALEXEYAB
typedef network_state pass;
#define PASS_NET(p) (&(p)->net)
#else
typedef network pass;
#define PASS_NET(p) (p)
#endif

/*
 * Where a call has its first argument, a layer or a network that is no pointer, and the pass behind
 * a layer. In C both are copies, on the stack of x86-64 or where a register of arm64 points to.
 * hank-ai's Darknet has a reference and such a copy.
 */
#ifdef __aarch64__
#define FIRST(registers, stack) ((void)(stack), (registers)[0])
#define PASS(registers, stack) ((void)(stack), (registers)[1])
#elif defined(HOOK_HANKAI)
#define FIRST(registers, stack) ((registers)[0])
#define PASS(registers, stack) (stack)
#else
#define FIRST(registers, stack) ((void)(registers), stack)
#define PASS(registers, stack) ((const void *)((const char *)(stack) + sizeof(layer)))
#endif

/* Behind the types of layers: what doors.h says of a door that changes something. */
enum { CHANGES_LAYER = 1000, CHANGES_LAYER_AT, CHANGES_NETWORK, CHANGES_NETWORK_AT };

enum {
#define NUMBER(name, kind) DOOR_##name,
    DOORS(NUMBER) DOOR_COUNT
};

static const struct door {
    const char *name;
    int kind;
} doors[] = {
#define ROW(name, kind) {SYMBOL_TEXT(SYMBOL(name)), kind},
    DOORS(ROW)
};

/* ---- The doors ---- */

#ifdef __x86_64__
/* 6 integer registers, 8 vector registers; 208 is where the caller's stack arguments begin. */
__asm__(".pushsection .text\n"
        ".type hook_door, @function\n"
        "hook_door:\n"
        "    .cfi_startproc\n"
        "    sub $200, %rsp\n"
        "    .cfi_adjust_cfa_offset 200\n"
        "    mov %rdi, (%rsp); mov %rsi, 8(%rsp); mov %rdx, 16(%rsp)\n"
        "    mov %rcx, 24(%rsp); mov %r8, 32(%rsp); mov %r9, 40(%rsp)\n"
        "    movaps %xmm0, 64(%rsp); movaps %xmm1, 80(%rsp)\n"
        "    movaps %xmm2, 96(%rsp); movaps %xmm3, 112(%rsp)\n"
        "    movaps %xmm4, 128(%rsp); movaps %xmm5, 144(%rsp)\n"
        "    movaps %xmm6, 160(%rsp); movaps %xmm7, 176(%rsp)\n"
        "    mov %r11d, %edi; mov %rsp, %rsi; lea 208(%rsp), %rdx; mov 200(%rsp), %rcx\n"
        "    call hook_enter\n"
        "    mov %rax, %r11\n"
        "    mov (%rsp), %rdi; mov 8(%rsp), %rsi; mov 16(%rsp), %rdx\n"
        "    mov 24(%rsp), %rcx; mov 32(%rsp), %r8; mov 40(%rsp), %r9\n"
        "    movaps 64(%rsp), %xmm0; movaps 80(%rsp), %xmm1\n"
        "    movaps 96(%rsp), %xmm2; movaps 112(%rsp), %xmm3\n"
        "    movaps 128(%rsp), %xmm4; movaps 144(%rsp), %xmm5\n"
        "    movaps 160(%rsp), %xmm6; movaps 176(%rsp), %xmm7\n"
        "    add $200, %rsp\n"
        "    .cfi_adjust_cfa_offset -200\n"
        "    test %r11, %r11\n"
        "    jz 1f\n"
        "    jmp *%r11\n"
        "1:  ret\n"
        "    .cfi_endproc\n"
        ".size hook_door, . - hook_door\n.popsection\n");
#define DOOR(name, kind) DOOR_OF(SYMBOL_TEXT(SYMBOL(name)), #name)
#define DOOR_OF(symbol, number)                                                                   \
    __asm__(".pushsection .text\n.globl " symbol "\n.type " symbol ", @function\n"                \
            symbol ":\n    endbr64\n"                                                             \
            "    mov hook_number_" number "(%rip), %r11d\n    jmp hook_door\n"                    \
            ".size " symbol ", . - " symbol "\n.popsection\n");
#elif defined(__aarch64__)
/* x0 to x7, x8 and q0 to q7 are kept, 224 bytes with frame and return address. */
__asm__(".pushsection .text\n"
        ".type hook_door, %function\n"
        "hook_door:\n"
        "    .cfi_startproc\n"
        "    stp x29, x30, [sp, #-224]!\n"
        "    .cfi_def_cfa_offset 224\n"
        "    .cfi_offset 29, -224\n"
        "    .cfi_offset 30, -216\n"
        "    mov x29, sp\n"
        "    stp x0, x1, [sp, #16]\n    stp x2, x3, [sp, #32]\n"
        "    stp x4, x5, [sp, #48]\n    stp x6, x7, [sp, #64]\n    str x8, [sp, #80]\n"
        "    stp q0, q1, [sp, #96]\n    stp q2, q3, [sp, #128]\n"
        "    stp q4, q5, [sp, #160]\n    stp q6, q7, [sp, #192]\n"
        "    mov w0, w16\n    add x1, sp, #16\n    add x2, sp, #224\n    mov x3, x30\n"
        "    bl hook_enter\n"
        "    mov x16, x0\n"
        "    ldp x0, x1, [sp, #16]\n    ldp x2, x3, [sp, #32]\n"
        "    ldp x4, x5, [sp, #48]\n    ldp x6, x7, [sp, #64]\n    ldr x8, [sp, #80]\n"
        "    ldp q0, q1, [sp, #96]\n    ldp q2, q3, [sp, #128]\n"
        "    ldp q4, q5, [sp, #160]\n    ldp q6, q7, [sp, #192]\n"
        "    ldp x29, x30, [sp], #224\n"
        "    .cfi_def_cfa_offset 0\n"
        "    .cfi_restore 29\n"
        "    .cfi_restore 30\n"
        "    cbz x16, 1f\n"
        "    br x16\n"
        "1:  ret\n"
        "    .cfi_endproc\n"
        ".size hook_door, . - hook_door\n.popsection\n");
/* hint 34 is bti c. */
#define DOOR(name, kind) DOOR_OF(SYMBOL_TEXT(SYMBOL(name)), #name)
#define DOOR_OF(symbol, number)                                                                   \
    __asm__(".pushsection .text\n.globl " symbol "\n.type " symbol ", %function\n"                \
            symbol ":\n    hint #34\n"                                                            \
            "    adrp x16, hook_number_" number "\n"                                             \
            "    ldr w16, [x16, #:lo12:hook_number_" number "]\n    b hook_door\n"               \
            ".size " symbol ", . - " symbol "\n.popsection\n");
#else
#error libdarknet-layers.so is for x86-64 and arm64: patch Darknet on other processors
#endif
/* The assembler sees no enum: it reads the numbers. */
#define MEMORY(name, kind)                                                                        \
    __attribute__((used, visibility("hidden"))) const int hook_number_##name = DOOR_##name;
DOORS(MEMORY)
DOORS(DOOR)

#define ADDRESS(name, kind) extern const char door_##name[] __asm__(SYMBOL_TEXT(SYMBOL(name)));
DOORS(ADDRESS)
static const char *const addresses[] = {
#define LIST(name, kind) door_##name,
    DOORS(LIST)
};

int hook_has_door(const layer *l)
{
    void *forward;
    memcpy(&forward, &l->forward, sizeof forward);
    for (int i = 0; i < DOOR_COUNT; ++i)
        if (doors[i].kind == (int)l->type && forward == addresses[i]) return 1;
    return 0;
}

/* ---- Darknets of this process ---- */

typedef struct host {
    uintptr_t begin, end;       /* the code of the object that calls */
    enum { UNKNOWN, RIGHT, OTHER } layout;
    void *own[DOOR_COUNT];
} host;

enum { HOSTS = 4 };
static host hosts[HOSTS];
static int host_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A host that another thread was looking for is not counted yet, and is found anew. */
static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}
GEMM_IN_CHILD(after_fork)

static int span_of(struct dl_phdr_info *info, size_t size, void *data)
{
    host *h = data;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + p->p_vaddr, end = begin + p->p_memsz;
        if (p->p_type != PT_LOAD || h->begin < begin || h->begin >= end) continue;
        h->begin = begin, h->end = end;
        return 1;
    }
    return 0;
}

/*
 * Fills in Darknet's own functions, if the object of this name defines them. The handle is kept,
 * because they are called.
 */
static int find_own(host *h, const char *name)
{
    void *handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    const void *first = handle ? dlsym(handle, doors[0].name) : NULL;
    if (!first || first == addresses[0]) return 0;
    for (int i = 0; i < DOOR_COUNT; ++i) {
        void *own = dlsym(handle, doors[i].name);
        h->own[i] = own == addresses[i] ? NULL : own;
    }
    h->begin = (uintptr_t)first;
    return dl_iterate_phdr(span_of, h);
}

/* The Darknet that calls. A call at the end of a function returns to the caller of that function,
   which may be no Darknet: then it is the first Darknet of the process. */
static host *find_host(const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    for (int i = 0; i < host_count; ++i)
        if (at >= hosts[i].begin && at < hosts[i].end) return &hosts[i];
    Dl_info info;
    if (host_count < HOSTS && dladdr(caller, &info) && find_own(&hosts[host_count], info.dli_fname))
        return &hosts[host_count++];
    if (host_count) return &hosts[0];
    const struct link_map *m = NULL;
    if (dlinfo(dlopen(NULL, RTLD_LAZY), RTLD_DI_LINKMAP, &m)) return NULL;
    for (; m; m = m->l_next)
        if (find_own(&hosts[0], m->l_name)) return &hosts[host_count++];
    return NULL;
}

/* ---- The layout ---- */

/*
 * Copies memory that may not be there. The kernel reads a mask of signals before it refuses what
 * shall be done with it. So EINVAL says that 8 bytes can be read. This needs no descriptor and no
 * right, and changes nothing.
 */
static int read_memory(void *to, const void *from, size_t bytes)
{
    enum { WORD = 8, PAGE = 4096, NOTHING = -1 };
    uintptr_t at = (uintptr_t)from & -(uintptr_t)WORD;
    const uintptr_t end = (uintptr_t)from + bytes;
    const int before = errno;
    int can = at < end;
    for (; can && at < end; at = (at | (PAGE - 1)) + 1)
        can = syscall(SYS_rt_sigprocmask, NOTHING, at, NULL, WORD) == -1 && errno == EINVAL;
    errno = before;
    if (can) memcpy(to, from, bytes);
    return can;
}

/* The fields of a convolution that follow from others. */
static int agrees(const layer *l)
{
    return l->type == CONVOLUTIONAL && l->batch > 0 && l->c > 0 && l->h > 0 && l->w > 0 &&
           l->n > 0 && l->size > 0 && l->stride > 0 && l->pad >= 0 && l->groups > 0 &&
           l->c % l->groups == 0 && l->out_c == l->n && l->inputs == l->c * l->h * l->w &&
           l->outputs == l->out_c * l->out_h * l->out_w &&
           l->nweights == l->c / l->groups * l->n * l->size * l->size && l->weights && l->biases &&
           l->output &&
           (!l->batch_normalize || (l->scales && l->rolling_mean && l->rolling_variance));
}

/* Whether the array may hold layers of this size. *doors: how many behind the first have their type
   beside the function of that type, which proves the size. */
static int is_array(const layer *layers, int n, int *doors)
{
    *doors = 0;
    for (int i = 0; i < n; ++i) {
        layer l;
        if (!read_memory(&l, &layers[i], sizeof l)) return 0;
        *doors += i && hook_has_door(&l);
        if (l.type == CONVOLUTIONAL && (l.n <= 0 || l.out_c != l.n || !l.output)) return 0;
        if (l.batch < 0 || l.outputs < 0 || l.inputs < 0) return 0;
    }
    return 1;
}

/*
 * What a convolution says. It does not tell where it is not in the array, because it is inside of a
 * recurrent layer, or where the host calls it by a function of its own. A pass that lies behind the
 * layer proves the size of a layer, too.
 */
static int verify(const void *first, const void *behind)
{
    layer l, same;
    pass p;
    int doors;
    if (!read_memory(&l, first, sizeof l) || !read_memory(&p, behind, sizeof p)) return UNKNOWN;
    if (!agrees(&l)) return OTHER;
    const network *net = PASS_NET(&p);
    if (net->n < 1 || net->n > 100000 || p.index < 0 || p.index >= net->n || !p.input) return OTHER;
    if (!is_array(net->layers, net->n, &doors)) return OTHER;
    if (!read_memory(&same, &net->layers[p.index], sizeof same)) return OTHER;
    if (!hook_has_door(&l) || memcmp(&same, &l, sizeof l)) return UNKNOWN;
    return doors || behind == (const char *)first + sizeof l ? RIGHT : UNKNOWN;
}

static void judge(host *h, const void *first, const void *behind)
{
    h->layout = verify(first, behind);
    if (h->layout == OTHER)
        fprintf(stderr, "gemm: libdarknet-layers.so was built for another Darknet, whose layer has "
                        "%zu bytes, and stays out: make layers DARKNET_SRC=folder\n",
                sizeof(layer));
    if (h->layout == OTHER) darknet_gemm_get_threads();     /* a call: reach.c says nothing more */
}

/* ---- What a door does ---- */

static int forward(const layer *l, const pass *p)
{
    const hook_net net = {PASS_NET(p)->layers, PASS_NET(p)->n, p->index, p->train, p->input,
                          p->delta};
    return hook_pass(net, l->output);
}

/* Returns whether all is done. Every network that gains by this has a convolution. */
static int enter(host *h, int kind, void *const *registers, const void *stack)
{
    const void *first = FIRST(registers, stack);
    if (h->layout == UNKNOWN && kind == CONVOLUTIONAL) {
        pthread_mutex_lock(&lock);
        if (h->layout == UNKNOWN) judge(h, first, PASS(registers, stack));
        pthread_mutex_unlock(&lock);
    }
    if (h->layout != RIGHT) return 0;
    switch (kind) {
    case CHANGES_LAYER:
        hook_drop(first);
        return 0;
    case CHANGES_LAYER_AT:
        hook_drop(registers[0]);
        return 0;
    case CHANGES_NETWORK:
        hook_drop_network(first);
        return 0;
    case CHANGES_NETWORK_AT:
        hook_drop_network(registers[0]);
        return 0;
    default:
        return forward(first, PASS(registers, stack));
    }
}

/* Called by the doors. Returns where to go on, or NULL for back to the caller. Where there is no
   function to go on to, the program ends. */
__attribute__((used, visibility("hidden"))) void *hook_enter(int number, void *const *registers,
                                                             const void *stack, const void *caller)
{
    pthread_mutex_lock(&lock);
    host *h = find_host(caller);
    pthread_mutex_unlock(&lock);
    if (!h || !h->own[number]) {
        fprintf(stderr, "gemm: libdarknet-layers.so finds no Darknet that has %s\n",
                doors[number].name);
        abort();
    }
    return enter(h, doors[number].kind, registers, stack) ? NULL : h->own[number];
}
