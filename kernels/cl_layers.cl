/* SPDX-License-Identifier: MIT */
/* The usual kernels of layers without weights as one program. */
#include "cl_copy.cl"
#include "cl_maxpool.cl"
#include "cl_shortcut.cl"
#include "cl_upsample.cl"
#include "cl_yolo.cl"
