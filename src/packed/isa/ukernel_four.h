/* SPDX-License-Identifier: MIT */
/* What instruction sets with vectors of four floats have in common: definitions of
   ukernel_body.h. */
#define VL 4
#define TURN 0
#define BAND_TURN 1
#define SHORT_K 64
#define A_HOME GEMM_A_IN_L2
#define TILES_WIDE 4
#define TAIL_UNIT 4
#define TAIL_MOST 3
#define ALONG_K_COLS 3
#define TILE_TUNING

#define vstore_low(p, v) vstore(p, v)
#define vstore_high(p, v) vstore(p, v)
#define vkeep(v) (void)(v)      /* an FMA reads registers only */

enum { BLOCK = 4, TALL = BLOCK };
#define transpose_tall transpose_block
