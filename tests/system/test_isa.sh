#!/bin/sh
# SPDX-License-Identifier: MIT
# Which micro-kernels `packed` may use on a processor: exactly those that it has. Other tests skip the
# rest, so a wrong answer here would hide them.
#
#   tests/system/test_isa.sh                             this processor, by /proc/cpuinfo
#   tests/system/test_isa.sh NAME "ISA ..." COMMAND...   the one on which COMMAND runs ./darknet
. tests/support/lib.sh

if [ $# = 0 ]; then
    name=here wanted=generic
    grep -qw avx2 /proc/cpuinfo && wanted="avx2 $wanted"
    grep -qw avx512vl /proc/cpuinfo && wanted="avx512 $wanted"
    [ "$(uname -m)" != aarch64 ] || wanted="neon $wanted"
    if [ "$(uname -m)" = armv7l ]; then
        grep -qw neon /proc/cpuinfo && wanted="neon32 $wanted"
        grep -qw vfpv4 /proc/cpuinfo && wanted="neon32_fma $wanted"
    fi
    set -- ./darknet
else
    name=$1 wanted=$2
    shift 2
fi

# detect ISA COMMAND...
detect()
{
    isa=$1
    shift
    GEMM_IMPL=packed GEMM_ISA=$isa "$@" detect tests/unit/cfg/layers.cfg no-weights no-image 2>&1
}

# Darknet looks for the weights only when the environment was right.
allowed=
for isa in $(detect none "$@" | sed -n 's/.*they have: //p'); do
    if detect "$isa" "$@" |
        grep -qF "Couldn't open file: no-weights"; then
        allowed="$allowed $isa"
    fi
done
if [ "${allowed# }" = "$wanted" ]; then
    pass "isa-$name"
else
    fail "isa-$name" "allowed are '${allowed# }', not '$wanted'"
fi
finish
