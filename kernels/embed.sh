#!/bin/sh
# Prints a C file that holds kernels as text: `embed.sh kernels/*.cl`. In place of a line
# `#include "x"` it puts the file x that lies beside the kernel, because a driver knows no folders.
set -e
echo '#include "cl/program.h"'
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
