#!/bin/sh
# Prints a C file with the kernels named on the command line as text: `embed.sh kernels/*.cl`.
echo '#include "gemm_cl_device.h"'
echo 'const gemm_cl_source gemm_cl_sources[] = {'
for file; do
    printf '{"%s",\n' "$(basename "$file" .cl)"
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$/\\n"/' "$file"
    echo '},'
done
echo '};'
echo 'const size_t gemm_cl_source_count = sizeof gemm_cl_sources / sizeof gemm_cl_sources[0];'
