# SPDX-License-Identifier: MIT
# Sums of what arm.sh printed, for a detection: a pass of the network alone.
#
#   bench/studies/arm.sh PROGRAM BLOCKS | awk -f bench/studies/arm_sum.awk
#
# Left out are the functions of pictures, of files and of libraries, and those that prepare weights.
# Prints millions of cycles for each CPU of arm.sh, then what share of them products, Winograd's
# transforms and depthwise layers have, and ms at 2.4 GHz (first CPU) and 1.5 GHz (last CPU).
BEGIN { FS = "\t" }
/^(stbi|resize_image|load_|letterbox|embed_image|save_image|draw_|border_|get_pixel|elsewhere|_init)/ { next }
/^(packed_arrange|gemm_winograd_filters)/ { next }
{
    for (i = 3; i <= NF; ++i) {
        all[i] += $i
        if ($1 ~ /^gemm_packed/) products[i] += $i
        if ($1 ~ /^gemm_winograd/) winograd[i] += $i
        if ($1 ~ /depthwise/) depthwise[i] += $i
    }
    if (NF > last) last = NF
}
END {
    if (!all[3]) { print "arm_sum.awk: no functions of a network" >"/dev/stderr"; exit 1 }
    for (i = 3; i <= last; ++i)
        printf "%.1f million cycles: products %d%%, Winograd %d%%, depthwise %d%%\n", all[i],
            100 * products[i] / all[i], 100 * winograd[i] / all[i], 100 * depthwise[i] / all[i]
    printf "%.1f ms at 2.4 GHz, %.1f ms at 1.5 GHz\n", all[3] / 2.4, all[last] / 1.5
}
