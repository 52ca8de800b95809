# SPDX-License-Identifier: MIT
# One row from a flat profile of gprof and a trace. Fields, with tabs between them:
#   - the row
#   - its gemm symbol with the most seconds, or -
#   - seconds of all gemm symbols an image
#   - calls of the row an image, without layers that multiply nothing
#   - seconds of the whole program an image
#   - seconds of the OpenCL device an image, or -
#   - every other symbol above 2%, with its seconds an image: "name=0.0123 ...", or -
#
#   awk -v row=NAME -v images=NUMBER -v trace_images=NUMBER -f gprof_row.awk PROFILE TRACE
#
# images: of the profile; trace_images: of the trace.

# Flat profile: percent, cumulative seconds, self seconds and more; the name is the last field.
FNR == NR && $1 ~ /^[0-9.]+$/ {
    name = $NF
    percent[name] += $1
    self[name] += $3
    total += $3
    if (!(name in order)) { order[name] = ++count; names[count] = name }
    next
}
FNR == NR { next }

# Trace: a line a call. M, the fourth column, is 0 in a layer that multiplies nothing. kernel_ms is the
# ninth, empty where no device worked.
FNR > 1 {
    split($0, field, ",")
    if (field[4] > 0) ++calls
    if (field[9] != "") { device += field[9]; on_device = 1 }
}

END {
    for (i = 1; i <= count; ++i) {
        name = names[i]
        if (name ~ /^gemm_/) {
            gemm += self[name]
            if (self[name] > self[symbol]) symbol = name
        } else if (percent[name] > 2) {
            others = others (others == "" ? "" : " ") sprintf("%s=%.4f", name, self[name] / images)
        }
    }
    printf "%s\t%s\t%.4f\t%d\t%.4f\t%s\t%s\n", row, symbol == "" ? "-" : symbol, gemm / images,
        calls / trace_images, total / images,
        on_device ? sprintf("%.4f", device / trace_images / 1000) : "-", others == "" ? "-" : others
}
