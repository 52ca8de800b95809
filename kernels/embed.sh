#!/bin/sh
# Prints a C file with the kernels named on the command line as text: `embed.sh kernels/*.cl`. A line
# `#include "x"` becomes the file x beside the kernel: a driver knows no folders.
echo '#include "gemm_cl_device.h"'
echo 'const gemm_cl_source gemm_cl_sources[] = {'
for file; do
    printf '{"%s",\n' "$(basename "$file" .cl)"
    awk -v folder="$(dirname "$file")" '/^#include "/ {
            split($0, part, "\"")
            while ((getline line < (folder "/" part[2])) > 0) print line
            close(folder "/" part[2])
            next
        }
        { print }' "$file" |
        sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$/\\n"/'
    echo '},'
done
echo '};'
echo 'const size_t gemm_cl_source_count = sizeof gemm_cl_sources / sizeof gemm_cl_sources[0];'
