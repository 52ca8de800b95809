/* SPDX-License-Identifier: MIT */
/*
 * A product in nchwc by AMX: see gemm_pairs. 16 places by the pairs of 32 channels are a register
 * of A, and the weights lie as B already. A register of sums has 16 places of 16 channels: that is
 * a piece of a group in nchwc.
 *
 *     panel of 32 places:   block of 16 pairs | 32 rows of 64 bytes | the next block ...
 *
 * Some places are rounded to panels on the stack. Strip after strip is multiplied by them, in the
 * registers of the tile: 32 places by up to 3 groups. A panel has zeroes behind the last channel.
 *
 * Rows of the image are rounded to pairs, and then transposed. Two groups of nchwc are rounded
 * straight to a row of a register.
 *
 * Included by ukernel_amx.h.
 */

enum { BLOCK_PAIRS = AMX_MR * AMX_STEPS, BLOCK_CHANNELS = 2 * AMX_STEPS };

/* Channels 0 .. of a group, of which there are `channels`, may be fewer than none. */
INLINE vec load_channels(const float *a, int channels)
{
    return channels >= VL ? vload(a) : channels > 0 ? vload_part(a, channels) : vzero();
}

INLINE void round_groups(const float *low, const float *high, int channels, int places,
                         gemm_pair *to)
{
    for (int j = 0; j < places; ++j, to += AMX_STEPS) {
        const vec first = load_channels(low + j * VL, channels);
        const vec second = load_channels(high + j * VL, channels - VL);
        _mm512_store_si512(to, (__m512i)_mm512_cvtne2ps_pbh(second, first));
    }
}

INLINE void round_block_of_groups(const gemm_nchwc *l, int k, int i, int places, gemm_pair *to)
{
    const float *low = l->a + (size_t)(k / VL) * l->a_ld + (size_t)i * VL;
    const int channels = l->K - k;
    const float *high = channels > VL ? low + l->a_ld : low;
    if (channels >= BLOCK_CHANNELS) round_groups(low, high, BLOCK_CHANNELS, places, to);
    else round_groups(low, high, channels, places, to);
}

static NOINLINE void round_panel(const gemm_nchwc *l, int i, int places, gemm_pair *to)
{
    for (int k = 0; k < l->K; k += BLOCK_CHANNELS, to += BLOCK_PAIRS) {
        if (l->source == GEMM_ROWS)
            fill_blocks(places, lesser(BLOCK_CHANNELS, l->K - k), AMX_STEPS,
                        l->a + (size_t)k * l->a_ld + i, l->a_ld, to);
        else round_block_of_groups(l, k, i, places, to);
    }
}

/* ---- a panel by a strip ---- */

typedef float panel_sums[AMX_MR][NR];
typedef void panel_fn(const gemm_tile *, float (*sums)[NR]);

#define PANEL_NAME(rows, nv) JOIN(gemm_packed_nchwc_##rows##x##nv##__, ISA)
#define PANEL(rows, nv)                                                                            \
    static NOINLINE void PANEL_NAME(rows, nv)(const gemm_tile *t, float (*sums)[NR])               \
    {                                                                                              \
        amx_sums(t, 0, rows == AMX_MR, nv, false, sums);                                           \
    }
EACH_VECS(PANEL, 16)
EACH_VECS(PANEL, 32)

#define PANEL_ENTRY(rows, nv) PANEL_NAME(rows, nv),
static panel_fn *const amx_panels[2][NV] = {{EACH_VECS(PANEL_ENTRY, 16)},
                                            {EACH_VECS(PANEL_ENTRY, 32)}};

/* Ends the sums of a group: those of places at[0], at[1] ... go to c. */
INLINE void finish_group(const gemm_nchwc *l, const activation f, const int *at, int places,
                         int channel, const float *sums, float *c)
{
    const int left = l->channels - channel;
    const vec slope = vset1(l->slope), shift = load_some(l->shift + channel, left);
    const vec scale = l->scale ? load_some(l->scale + channel, left) : vset1(1);
    for (int r = 0; r < places; ++r, sums += NR)
        vstore(c + at[r], activate(f, vfma(scale, vload(sums), shift), slope));
}

/* The sums of a panel by a strip. */
typedef struct panel_product {
    const int *at;
    int places, group, nv;      /* places 0: there is none */
    float (*sums)[NR];
} panel_product;

static NOINLINE void finish_panel(const gemm_nchwc *l, const panel_product *p)
{
    for (int v = 0; v < p->nv; ++v) {
        const int group = p->group + v;
        float *const c = l->c + (size_t)group * l->c_ld;
        const float *from = p->sums[0] + v * VL;
        if (l->slope == 1) finish_group(l, LINEAR, p->at, p->places, group * VL, from, c);
        else if (l->slope > 0) finish_group(l, LEAKY, p->at, p->places, group * VL, from, c);
        else finish_group(l, BY_SIGN, p->at, p->places, group * VL, from, c);
    }
}

/* ---- the product ---- */

/* `places` rounded places, the first of which goes to at[0], by all strips. The sums of a panel are
   finished while those of the next one are on their way. */
static void multiply_places(const gemm_nchwc *l, const int *at, int places, const gemm_pair *pairs,
                            int blocks)
{
    _Alignas(CACHE_LINE) panel_sums sums[2];
    const int groups = (l->channels + VL - 1) / VL;
    gemm_tile t = {.kc = blocks * AMX_STEPS, .b = l->b};
    panel_product before = {.places = 0, .sums = sums[1]};
    for (int group = 0; group < groups; group += NV) {
        const int nv = lesser(NV, groups - group);
        t.a = (const float *)pairs;
        t.b_row = (size_t)nv * VL;
        for (int i = 0; i < places; i += AMX_MR, t.a += blocks * BLOCK_PAIRS) {
            const panel_product now = {at + i, lesser(AMX_MR, places - i), group, nv,
                                       before.sums == sums[0] ? sums[1] : sums[0]};
            amx_panels[now.places > AMX_ROWS][nv - 1](&t, now.sums);
            if (before.places) finish_panel(l, &before);
            before = now;
        }
        t.b += (size_t)l->K * t.b_row;
    }
    finish_panel(l, &before);
}

/*
 * A strip has K rows, and the second half of them is 0. From 16 channels on a whole number of
 * blocks fits in them. With up to 32, registers of A and B are as large as there are steps.
 */
static void own_nchwc(const gemm_nchwc *l)
{
    enum { ROOM = AMX_MR * GEMM_PAIRS_MOST_K / 2, PLACES = 4 * AMX_MR };
    _Alignas(CACHE_LINE) gemm_pair pairs[ROOM];
    const int blocks = (l->K + BLOCK_CHANNELS - 1) / BLOCK_CHANNELS;
    const int panel = blocks * BLOCK_PAIRS, most = lesser(PLACES, ROOM / panel * AMX_MR);
    begin_tiles(AMX_ROWS, blocks > 1 ? AMX_STEPS : (l->K + 1) / 2);
    for (int from = 0; from < l->places; from += most) {
        const int n = lesser(most, l->places - from);
        for (int i = 0; i < n; i += AMX_MR)
            round_panel(l, from + i, lesser(AMX_MR, n - i), pairs + i / AMX_MR * panel);
        multiply_places(l, l->at + from, n, pairs, blocks);
    }
    _tile_release();
}

/* Beside a TDPBF16PS for 32 steps of 256 elements, 16 cycles, these are stored twice, scaled and
   activated, some 64 cycles. An FMA has 32 multiply-adds a cycle. */
#define OWN_NCHWC own_nchwc
#define OWN_NCHWC_COST {.element = 8, .step = 1. / 16}
