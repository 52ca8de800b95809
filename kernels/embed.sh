#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints a C file that holds the OpenCL kernels as text.
#
#   kernels/embed.sh FILE.cl...
#
# A line `#include "x"` is replaced by the file x beside the kernel, because an OpenCL driver cannot
# find it when the program runs.
set -eu
echo '#include "cl/device/program.h"'
echo 'const gemm_cl_source gemm_cl_sources[] = {'
for file; do
    printf '{"%s",\n' "$(basename "$file" .cl)"
    awk -v folder="$(dirname "$file")" '
        function as_text(line) {
            gsub(/\\/, "&&", line)
            gsub(/"/, "\\\"", line)
            print "\"" line "\\n\""
        }
        /^#include "/ {
            split($0, part, "\"")
            path = folder "/" part[2]
            while ((got = (getline line < path)) > 0) as_text(line)
            close(path)
            if (got == 0) next
            print "embed.sh: " FILENAME ":" FNR ": no " path >"/dev/stderr"
            exit 1
        }
        { as_text($0) }' "$file"
    echo '},'
done
echo '};'
echo 'const size_t gemm_cl_source_count = sizeof gemm_cl_sources / sizeof gemm_cl_sources[0];'
