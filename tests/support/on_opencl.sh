#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a test program on an OpenCL that setup/opencl.sh has made.
#
#   tests/support/on_opencl.sh NAME FOLDER COMMAND...
#
# Where that OpenCL cannot be had, it prints one skipped test, which says why. That is a failure
# under GEMM_REQUIRE=all, but for a processor on which Intel's runtime cannot run.
#
# pocl and intel compute. llvmpipe does too, with Mesa's own compiler. freedreno compiles as for an
# Adreno, GPU FD_GPU_ID, and executes nothing.
set -eu
export LC_ALL=C

name=$1 folder=$2
shift 2
skip()
{
    echo "ok 1 - $name # SKIP $1"
    echo 1..1
    exit 0
}

# in_root VARIABLE=VALUE... COMMAND...: the command inside of FOLDER/root, which sees this project
# where it lies. The mounts are private, and vanish with the command.
in_root()
{
    export ROOT="$folder/root" HERE="$PWD"
    mkdir -p "$ROOT$HERE"
    exec unshare -m sh -c '
        mount --make-rprivate /
        for place in /proc /dev /sys /tmp "$HERE"; do mount --rbind "$place" "$ROOT$place"; done
        exec chroot "$ROOT" env -C "$HERE" "$@"' sh HOME=/tmp MESA_SHADER_CACHE_DISABLE=true "$@"
}

if [ "$name" = intel ] && { [ "$(uname -m)" != x86_64 ] || ! grep -qw avx2 /proc/cpuinfo; }; then
    skip "machine: Intel's runtime needs an x86-64 with AVX2"
fi
mkdir -p "$folder"
status=0
why=$(flock "$folder/lock" setup/opencl.sh "$name" "$folder") || status=$?
[ $status != 3 ] || skip "$why"
[ $status = 0 ] || exit $status
# Programs of a command serve those after it. run.sh names a folder that ends with its run.
export GEMM_CACHE_DIR="${XDG_CACHE_HOME:-$folder}/$name"
case $name in
pocl)
    export OPENCL_LAYERS="${OPENCL_LAYERS:+$OPENCL_LAYERS:}$OUT/tests/layer_quick.so"
    exec "$@" ;;
intel)
    export OCL_ICD_VENDORS="$folder/vendors"
    exec "$@" ;;
llvmpipe) in_root RUSTICL_ENABLE=llvmpipe "$@" ;;
freedreno)
    shim=/usr/lib/x86_64-linux-gnu/libfreedreno_noop_drm_shim.so
    in_root GEMM_CL_TRY=0 RUSTICL_ENABLE=freedreno "FD_GPU_ID=${FD_GPU_ID:-630}" \
        "LD_PRELOAD=$OUT/tests/preload_faults.so:$shim" "$@" ;;
esac
