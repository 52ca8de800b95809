/* gemm as Darknet calls it, on the row that is chosen. */
#ifndef GEMM_DARKNET_H
#define GEMM_DARKNET_H

#include "lib/stock.h"

gemm_darknet_function gemm_run_darknet;

#endif
