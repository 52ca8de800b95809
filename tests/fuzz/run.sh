#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs one fuzz target, from its own corpus. A finding becomes a file of tests/fuzz/found/.
#
#   tests/fuzz/run.sh FOLDER TARGET SECONDS SEED SOURCES
#
# FOLDER has the program `fuzz`. SOURCES is Darknet's src/: its options are words that cfgs are made of.
set -eu
export LC_ALL=C
folder=$1 seconds=$3 seed=$4 sources=$5
export FUZZ_TARGET="$2"
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
FUZZ_FOLDER=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
export FUZZ_FOLDER
trap 'rm -rf "$FUZZ_FOLDER"' EXIT
trap 'exit 130' INT TERM
corpus=$folder/corpus/$FUZZ_TARGET
log=$folder/$FUZZ_TARGET.log
rm -rf "$corpus"
mkdir -p "$corpus" tests/fuzz/found
FUZZ_SEEDS=$corpus "$folder/fuzz" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
for found in tests/fuzz/found/"$FUZZ_TARGET"-*; do [ ! -e "$found" ] || cp "$found" "$corpus"; done
{
    sed -n 's/.*option_find[a-z_]*(options, *\("[A-Za-z0-9_]*"\).*/\1/p' "$sources"/parser.c "$sources"/option_list.c
    sed -n 's/.*strcmp([a-z]*, *\("[][a-z0-9]*"\)).*/\1/p' "$sources/parser.c" "$sources/activations.c"
    printf '"%s"\n' 0 1 -1 1073741824 2147483647 2147483648 -2147483648 , = '[' ']' '\x0d\x0a' IHDR IDAT PLTE tRNS
} | sort -u >"$folder/$FUZZ_TARGET.dict"
if "$folder/fuzz" -seed="$seed" -max_total_time="$seconds" \
    -max_len=4096 -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=64 -dict="$folder/$FUZZ_TARGET.dict" \
    -artifact_prefix="tests/fuzz/found/$FUZZ_TARGET-" -close_fd_mask=1 -print_final_stats=1 "$corpus" >"$log" 2>&1; then
    awk '/^stat::number_of_executed_units/ { runs = $2 }
         END { printf "%s: %d inputs in %d s, no finding\n", target, runs, seconds }' target="$FUZZ_TARGET" seconds="$seconds" "$log"
else
    grep -aE '^(==[0-9]+==|SUMMARY|artifact_prefix|Test unit)|runtime error|Test unit written|    #[0-9]' "$log" | head -n 30 >&2
    echo "$FUZZ_TARGET: a finding: $log" >&2
    exit 1
fi
