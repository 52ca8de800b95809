#!/bin/sh
# SPDX-License-Identifier: MIT
# The OpenCL rows while one call after another fails, and how often they wait for the device.
#
#   tests/system/test_cl_faults.sh
#
# Each fault has a process of its own. They load programs from a cache, because PoCL takes four times
# as long where it has only the text. In one case programs are built from their text. There layer_quick
# stands first, because then calls of its own do not fail.
. tests/support/lib.sh

bin=$OUT/tests
export GEMM_IMPL=cl GEMM_CACHE_DIR="$work/cache"
OPENCL_LAYERS=$bin/layer_fail.so plain "$bin/test_cl_faults" --waits | relay
# The drivers are loaded before the processes are made. In a process that a fork made, NVIDIA's driver then
# shows no device.
use_pocl || { skip cl-faults "$no_pocl"; finish; }
# Drawn by the seed of the run, or all of them.
calls=$(few_or_all "--every 7 --seed ${SEED:-1}" '')
OPENCL_LAYERS=$bin/layer_fail.so plain "$bin/test_cl_faults" $calls | relay
GEMM_CACHE_DIR=$work/quick OPENCL_LAYERS=$bin/layer_quick.so:$bin/layer_fail.so \
    plain "$bin/test_cl_faults" --row split $calls | relay from-text-

finish
