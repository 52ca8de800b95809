#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints a C file that holds the OpenCL kernels as text.
#
#   kernels/embed.sh FILE.cl...
#
# A line `#include "x"` is replaced by the file x beside the kernel, because an OpenCL driver cannot
# find it when the program runs. The same holds for the lines of x. A file that the kernel has
# already is not repeated.
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
        function embed(line, where, part, path, number, got) {
            if (line !~ /^#include "/) {
                as_text(line)
                return
            }
            split(line, part, "\"")
            path = folder "/" part[2]
            if (path in had) return
            had[path]
            while ((got = (getline line < path)) > 0) embed(line, path ":" ++number)
            close(path)
            if (got == 0) return
            print "embed.sh: " where ": no " path >"/dev/stderr"
            exit 1
        }
        { embed($0, FILENAME ":" FNR) }' "$file"
    echo '},'
done
echo '};'
echo 'const size_t gemm_cl_source_count = sizeof gemm_cl_sources / sizeof gemm_cl_sources[0];'
