/* SPDX-License-Identifier: MIT */
/*
 * cl_activate: data[i] = f(data[i]) for n elements from d0 on, which a convolution stored. Items:
 * cl_layer.h. BY_ROW takes vectors, because compilers make none of a loop over exp.
 */
#include "cl_layer.h"
#include "cl_activate.h"

#ifdef BY_ROW
CL_ACTIVATE(activate8, float8)
#endif

__kernel void cl_activate(PARAMETERS(CL_ACTIVATE_ARGUMENTS))
{
    data += d0;
#ifdef BY_ROW
    int i = (int)ROW * RUN;
    const int end = min(n, i + RUN);
    for (; i + 8 <= end; i += 8) {
        vstore8(activate8(vload8(0, data + i), activation), 0, data + i);
    }
    for (; i < end; ++i) {
        data[i] = activate(data[i], activation);
    }
#else
    EACH(i, n) {
        data[i] = activate(data[i], activation);
    }
#endif
}
