/* SPDX-License-Identifier: MIT */
/* NEON of armv7 with the fused multiply-add of VFPv4: the tile of ukernel_neon32.c. */
#if defined(__arm__) && defined(__ARM_PCS_VFP)
#define ISA neon32_fma
#define FUSED

#include "packed/isa/ukernel_neon32.c"
#endif
