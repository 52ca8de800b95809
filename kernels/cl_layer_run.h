/* SPDX-License-Identifier: MIT */
/* Elements of a "row" where a layer has no rows. The host counts the items by it. */
#ifndef CL_LAYER_RUN
#define CL_LAYER_RUN 4096
#endif
