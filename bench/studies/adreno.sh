#!/bin/sh
# SPDX-License-Identifier: MIT
# What a compiler for Adreno GPUs makes of the OpenCL kernels: a table.
#
#   bench/studies/adreno.sh COMPILER [GPU]...
#
# COMPILER is a command. It is called as COMPILER GPU FILE OPTIONS, compiles the kernel of FILE, and
# prints what Mesa prints with IR3_SHADER_DEBUG=cs,disasm (docs/log/adreno.md). GPU is a model
# number; 640, 660 and 740 when none is given. ONLY is a pattern of the names in the table below,
# all by default: ONLY='direct*' takes 10 of them. One takes 2 s.
#
# Prints lines of tabs: GPU, kernel, registers of four floats, work-items resident on a shader
# processor, private loads and stores in all, then of the hot loop: issue slots, multiply-adds,
# private loads and stores. adreno_slots.tsv is such a table.
set -eu
export LC_ALL=C

if [ $# = 0 ]; then
    echo 'adreno.sh: no compiler is named: bench/studies/adreno.sh COMPILER [GPU]...' >&2
    exit 2
fi
compiler=$1
shift
[ $# != 0 ] || set -- 640 660 740
here=$(dirname "$0")
kernels=$here/../../kernels
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

for file in "$kernels"/*.cl; do
    awk -v folder="$kernels" -f "$here/flat_kernel.awk" "$file" >"$work/$(basename "$file")"
done

for gpu; do
    while read -r title kernel options; do
        case $title in ${ONLY:-*}) ;; *) continue ;; esac
        # $compiler may be a command with arguments.
        $compiler "$gpu" "$work/$kernel.cl" "-cl-mad-enable -cl-no-signed-zeros $options" >"$work/said" 2>&1 || :
        counts=$(awk -v kernel="$kernel" -f "$here/ir3_loop.awk" "$work/said") || {
            echo "adreno.sh: $title for GPU $gpu; the compiler said:" >&2
            tail -n 5 "$work/said" >&2
            exit 1
        }
        printf '%s\t%s\t%s\n' "$gpu" "$title" "$counts"
    done <<KERNELS
image-8x4 cl_image -DROWS=8 -DCOLS=4
image-4x4 cl_image -DROWS=4 -DCOLS=4
image-8x8 cl_image -DROWS=8 -DCOLS=8
conv3-8x4 cl_image -DROWS=8 -DCOLS=4 -DCONV -DSIZE=3
conv3-4x4 cl_image -DROWS=4 -DCOLS=4 -DCONV -DSIZE=3
conv3-8x8 cl_image -DROWS=8 -DCOLS=8 -DCONV -DSIZE=3
conv1-8x4 cl_image -DROWS=8 -DCOLS=4 -DCONV -DSIZE=1 -DIN_PLACE
conv1-4x4 cl_image -DROWS=4 -DCOLS=4 -DCONV -DSIZE=1 -DIN_PLACE
conv1-8x8 cl_image -DROWS=8 -DCOLS=8 -DCONV -DSIZE=1 -DIN_PLACE
pool3-8x4 cl_image -DROWS=8 -DCOLS=4 -DCONV -DSIZE=3 -DPOOL
pool3-4x4 cl_image -DROWS=4 -DCOLS=4 -DCONV -DSIZE=3 -DPOOL
pool3-8x8 cl_image -DROWS=8 -DCOLS=8 -DCONV -DSIZE=3 -DPOOL
direct3 cl_direct -DROWS=8 -DWX=64 -DWY=1 -DSIZE=3 -DSTRIDE=1
direct3-pool cl_direct -DROWS=8 -DWX=64 -DWY=1 -DSIZE=3 -DSTRIDE=1 -DPOOL
direct3-half cl_direct -DROWS=8 -DWX=64 -DWY=1 -DSIZE=3 -DSTRIDE=2
direct3-half-pool cl_direct -DROWS=8 -DWX=64 -DWY=1 -DSIZE=3 -DSTRIDE=2 -DPOOL
direct5 cl_direct -DROWS=4 -DWX=64 -DWY=1 -DSIZE=5 -DSTRIDE=1
direct1 cl_direct -DROWS=8 -DWX=64 -DWY=1 -DSIZE=1 -DSTRIDE=1
direct3-image cl_direct -DROWS=8 -DWX=64 -DWY=1 -DSIZE=3 -DSTRIDE=1 -DTEXTURE
direct1-image cl_direct -DROWS=8 -DWX=64 -DWY=1 -DSIZE=1 -DSTRIDE=1 -DTEXTURE
direct3-depthwise cl_direct -DROWS=1 -DWX=64 -DWY=1 -DSIZE=3 -DSTRIDE=1
half-sums cl_image -DROWS=8 -DCOLS=4 -DCONV -DSIZE=3 -DHALF_SUMS
thin1-conv3 cl_thin -DROWS=1 -DWX=64 -DWY=1 -DCONV -DTAPS -DSIZE=3
thin8-conv3 cl_thin -DROWS=8 -DWX=64 -DWY=1 -DCONV -DTAPS -DSIZE=3
thin8 cl_thin -DROWS=8 -DWX=64 -DWY=1
gemv cl_gemv -DROWS=4 -DWX=128 -DWY=1 -DCONV -DSIZE=1
fill3 cl_fill -DCONV -DSIZE=3
fill3-pool cl_fill -DCONV -DSIZE=3 -DPOOL
sum cl_sum -DCONV
sum-pool cl_sum -DCONV -DPOOL
maxpool cl_maxpool
avgpool cl_avgpool
upsample cl_upsample -DSTRIDE=2
copy cl_copy -DRUN=4
shortcut cl_shortcut -DRUN=4
yolo cl_yolo
KERNELS
done
