/* Which calls the rows may see. The rest is declined, so that Darknet's own code runs. */
#ifndef GEMM_VALID_H
#define GEMM_VALID_H

#include "gemm_dispatch.h"

/* Whether the sizes are those of a convolution that gemm_dispatch.h describes, and no count of its
   elements overflows an int. */
bool gemm_conv_is_valid(const conv_call *);

/* The same for a layer without weights. */
bool gemm_layer_is_valid(const layer_call *);

#endif
