/* gemm-bench: for now, the table of variants. */
#include <stdio.h>
#include <string.h>

#include "gemm_dispatch.h"

int main(int argc, char **argv)
{
    if (argc != 2 || strcmp(argv[1], "--list")) {
        fprintf(stderr, "usage: gemm-bench --list\n");
        return 2;
    }
    gemm_list(stdout);
    return 0;
}
