# One row from a flat profile of gprof and a trace: tab-separated
#   row, the gemm symbol with the most seconds (or -), seconds of all gemm symbols an image, calls of
#   the row an image, seconds of everything, of the device an image (or -), and what else took above
#   2%: "name 12.3%, ..."
#
#   -v row=NAME -v images=NUMBER (of the profile) -v trace_images=NUMBER (of the trace)

# flat profile: %time cumulative self and more, at the end the name
FNR == NR && $1 ~ /^[0-9.]+$/ {
    name = $NF
    percent[name] += $1
    self[name] += $3
    total += $3
    if (!(name in order)) { order[name] = ++count; names[count] = name }
    next
}
FNR == NR { next }

# trace: a line a call; kernel_ms is the ninth column, empty where no device worked
FNR > 1 {
    FS = ","
    $0 = $0
    ++calls
    if ($9 != "") { device += $9; on_device = 1 }
}

END {
    for (i = 1; i <= count; ++i) {
        name = names[i]
        if (name ~ /^gemm_/) {
            gemm += self[name]
            if (self[name] > self[symbol]) symbol = name
        } else if (percent[name] > 2) {
            others = others (others == "" ? "" : ", ") sprintf("%s %.1f%%", name, percent[name])
        }
    }
    if (symbol == "") symbol = "-"
    printf "%s\t%s\t%.4f\t%d\t%.4f\t%s\t%s\n", row, symbol, gemm / images, calls / trace_images,
        total / images,
        on_device ? sprintf("%.4f", device / trace_images / 1000) : "-", others == "" ? "-" : others
}
