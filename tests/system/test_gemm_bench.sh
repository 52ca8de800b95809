#!/bin/sh
# SPDX-License-Identifier: MIT
# gemm-bench: its options, what it prints, the calls of a cfg, and how it ends after a wrong result,
# a crash in another library, a full disk or Ctrl-C. Also the numbers in options of other programs.
#
# usage: tests/system/test_gemm_bench.sh BUILD [WEIGHTS]    BUILD: the folder of the build; WEIGHTS:
# for cfg/yolov3-tiny.cfg
set -u
. tests/support/lib.sh
build=$1
weights=${2:-$BUILD/yolov3-tiny-untrained.weights}
bench=$build/bench/gemm_bench
wrong=$build/tests/gemm_bench_wrong
flat=$build/tests/json_flat
few='--samples 3 --seconds 0 --threads 1 --seed 1'
quick="$few --peak none"          # the peaks take most of the time of a start

# value PATH: of the JSON last made flat
value() { awk -F '\t' -v path="$1" '$1 == path { print $2 }' "$work/flat"; }

# is NAME WANTED GOT
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "wanted '$2', got '$3'"; fi; }

# ---- options ----
bad()
{
    name=$1 message=$2
    shift 2
    expect_failure "bench_option_$name" "gemm-bench: $message" "$bench" "$@"
    is "bench_option_${name}_status" 2 "$status"
}
bad shapes "--shapes 'resnet' is unknown: allowed are yolov3-tiny, grouped, squares" --shapes resnet
bad mnk "-s '512,169': M,N,K is needed" -s 512,169
bad mnk_zero "-s '0,1,1': M,N,K is needed" -s 0,1,1
bad mnk_junk "-s '1,2,3x': M,N,K is needed" -s 1,2,3x
bad mnk_four "-s '1,2,3,4': M,N,K is needed" -s 1,2,3,4
bad sizes "--sizes '9:4': FROM:TO or FROM:TO:STEP is needed" --sizes 9:4
bad sizes_none "--sizes '5:7': no power of two lies there" --sizes 5:7
bad transposes "--transposes 'NN,NX': a list of NN, NT, TN, TT is needed" --transposes NN,NX
bad cfg "/nowhere.cfg: No such file or directory" --cfg /nowhere.cfg
bad batch "--batch '0': a whole number from 1 to" --batch 0
bad impl "--impl 'transpos': no such row; --list prints all of them" --impl transpos
bad impl_threads "--impl: threads '0': a whole number from 1 to 1024 is needed" --impl stock@0
bad impl_setting "--impl 'stock+GEMM_ISA': VAR=VALUE is needed behind each +" --impl stock+GEMM_ISA
bad threads "--threads 'many': a whole number from 1 to 1024 is needed" --threads 1,many
bad samples "--samples '2': a whole number from 3 to 1000 is needed" --samples 2
bad seconds "--seconds '3601': a number from 0 to 3600 is needed" --seconds 3601
bad seed "--seed '-3': a whole number from 0 to 2147483647 is needed" --seed -3
bad peak "--peak 'sse9' is not on this processor: allowed are" --peak sse9
bad word "'stock' is no option" stock
expect_failure bench_option_unknown "unrecognized option '--fast'" "$bench" --fast
expect_failure bench_isa "gemm-bench: GEMM_ISA 'mmx' is not on this processor" \
    env GEMM_ISA=mmx "$bench" -s 1,1,1
mkdir "$work/empty"
for file in libblis.so libdnnl.so; do ${CC:-gcc} -shared -fPIC -x c /dev/null -o "$work/empty/$file" || exit 1; done
expect_failure bench_ref_symbol "blis cannot run here: libblis.so has no cblas_sgemm" \
    env LD_LIBRARY_PATH="$work/empty" "$bench" --impl blis
expect_failure bench_output "-o /nowhere/x: No such file or directory" \
    "$bench" --impl stock -o /nowhere/x
expect_failure bench_output_of_another "-o $work/busy: Device or resource busy" \
    flock "$work/busy" "$bench" --impl stock -s 3,3,3 -o "$work/busy"

# numbers NAME COMMAND...: one line on stderr and status 2 for whatever is no number behind COMMAND
numbers()
{
    name=$1 faults=
    shift
    for value in '' abc 1x 0x10 ' 1' '1 ' +1 1e99 nan inf -1 1,; do
        "$@" "$value" >"$work/output" 2>"$work/err" </dev/null
        status=$?
        [ $status = 2 ] && [ "$(wc -l <"$work/err")" = 1 ] && [ ! -s "$work/output" ] ||
            faults="$faults '$value': status $status, $(wc -l <"$work/err") lines;"
    done
    is "numbers_$name" '' "$faults"
}
for option in -s --sizes --batch --threads --samples --seconds --seed; do
    numbers "gemm_bench$option" "$bench" $option
done
for option in --threads --rounds; do
    numbers "bench_detect$option" "$build/bench/bench_detect" $option
done
for option in -n --rounds --warmup --idle-ms --timeout --seed --least; do
    numbers "ab$option" "$build/bench/ab" $option
done
for program in test_gemm test_packed test_conv test_cl; do
    [ -x "$build/tests/$program" ] || { skip "numbers_$program" 'it is not built'; continue; }
    for option in --seed --cases; do numbers "$program$option" "$build/tests/$program" $option; done
done

"$bench" --help >"$work/help" 2>&1
is bench_help_status 0 $?
for option in --shapes --cfg -s --impl --threads --cold --warm --csv --json --transposes --sizes \
    --list; do
    grep -q -- "^  $option\|, $option " "$work/help" || fail "bench_help$option" "not in --help"
done

is bench_version_status 0 "$("$bench" --version >"$work/version"; echo $?)"
is bench_version 1 "$(grep -cx "gemm-bench $(sed -n 's/^#define DARKNET_GEMM_VERSION "\(.*\)"/\1/p' \
    src/darknet_gemm.h), commit [^ ]*" "$work/version")"
is bench_cl_help 'usage: bench_cl [--quick] [--ladder | --squares FILE] 0' \
    "$("$build/bench/bench_cl" --help | head -n 1) $("$build/bench/bench_cl" --help >"$work/help"; echo $?)"
for option in $(sed -n 's/.*strcmp(argv\[i\], "\(--[a-z-]*\)").*/\1/p' bench/cl/bench_cl.c); do
    grep -q -- "^  $option " "$work/help" || fail "bench_cl_help$option" "not in --help"
done

# ---- the table and the shapes ----
is bench_list_columns '' "$("$bench" --list |
    awk -F '\t' 'NF != 4 || ($2 != "usable" && $2 !~ /^unusable: ./)')"
# Neither this project nor PoCL has compiled and kept an OpenCL program.
mkdir "$work/pocl" "$work/cache"
POCL_CACHE_DIR=$work/pocl GEMM_CACHE_DIR=$work/cache "$bench" --list >/dev/null 2>&1
is bench_list_compiles_nothing '' "$(find "$work/pocl" "$work/cache" -type f -size +0)"
is bench_list_reason 1 "$(LD_LIBRARY_PATH="$work/empty" "$bench" --list |
    grep -c '^onednn	unusable: libdnnl.so has no dnnl_sgemm	')"
is bench_shapes_calls 13 "$("$bench" --list-shapes | awk 'NR > 1 { n += $9 } END { print n }')"
is bench_shapes_sizes '63 64 65 96 127 128 129' \
    "$("$bench" --sizes 64:128 --list-shapes | awk 'NR > 1 { print $3 }' | sort -n | xargs)"
is bench_shapes_step '10 17 24' \
    "$("$bench" --sizes 10:24:7 --list-shapes | awk 'NR > 1 { print $3 }' | xargs)"
is bench_shapes_transposes '0 1 5 7 3 3 3 7;1 1 5 7 3 5 3 7;' \
    "$("$bench" -s 5,7,3 --transposes NT,TT --list-shapes | sed 1d | cut -f 1-8 | tr '\t\n' ' ;')"
printf '[net]\ninputs=7\nbatch=8\nsubdivisions=2\n[connected]\noutput=1\n' >"$work/b.cfg"
is bench_shapes_batch '1 1 7;4 1 7;' "$(for b in 1 cfg; do
    "$bench" --cfg "$work/b.cfg" --batch $b --list-shapes | sed 1d | cut -f 3-5
done | tr '\t\n' ' ;')"

# ---- the calls of a cfg ----
# calls CFG BATCH: TA TB M N K lda ldb ldc calls, sorted
calls() { "$bench" --cfg "$1" --batch "$2" --list-shapes 2>&1 | sed 1d | tr '\t' ' ' | sort; }
"$bench" --list-shapes | sed 1d | tr '\t' ' ' | sort >"$work/builtin"
calls cfg/yolov3-tiny.cfg 1 >"$work/cfg"
is bench_cfg_yolov3_tiny '' "$(diff "$work/builtin" "$work/cfg")"
GEMM_IMPL=packed GEMM_CONV=im2col GEMM_TRACE=$work/trace "$build/darknet" detect \
    cfg/yolov3-tiny.cfg "$weights" data/kite.jpg -out "$work/drawing" >"$work/output" 2>&1
awk -F , 'NR > 1 { ++n[$2 " " $3 " " $4 " " $5 " " $6] }
    END { for (c in n) print c, n[c] }' "$work/trace" | sort >"$work/ran"
is bench_cfg_trace '' "$(cut -d ' ' -f 1-5,9 "$work/cfg" | sort | diff - "$work/ran")"

calls tests/unit/cfg/every_layer.cfg cfg >"$work/every"
is bench_cfg_every_layer '' "$(diff tests/unit/cfg/every_layer.calls "$work/every")"

# bad_cfg NAME MESSAGE TEXT
bad_cfg()
{
    printf "$3" >"$work/bad.cfg"
    expect_failure "bench_cfg_$1" "$2" "$bench" --cfg "$work/bad.cfg"
    is "bench_cfg_$1_lines" 1 "$(wc -l <"$work/output")"
}
net='[net]\nwidth=8\nheight=8\nchannels=3\n'
bad_cfg empty "bad.cfg: Darknet ended with status 1: Config file cannot be read or has no layers" ''
bad_cfg line "bad.cfg, line 1 comes before the first section: filters=3" "filters=3\n"
bad_cfg size "[maxpool]: stride=0, but a whole number of at least 1 is needed" "${net}[maxpool]\nstride=0\n"
bad_cfg type "[transformer]: this Darknet has no such layer" "${net}[transformer]\n"
bad_cfg no_net "First section must be [net] or [network]" "[conv]\n[conv]\n"
bad_cfg no_gemm "bad.cfg: no layer of it multiplies matrices" "${net}[maxpool]\n"
expect_failure bench_cfg_folder '/: Is a directory' "$bench" --cfg /

# ---- what it prints ----
"$bench" $few --impl stock,transpose -s 33,17,20 -s 1,9,2 --warm --cold --json \
    >"$work/json" 2>"$work/err"
is bench_json_status 0 $?
"$flat" <"$work/json" >"$work/flat"
is bench_json_valid 0 $?
is bench_json_results 8 "$(grep -c '^results\.[0-9]*\.impl	' "$work/flat")"
is bench_json_first 'stock 0 0 33 17 20 1' \
    "$(for k in impl TA TB M N K threads; do value results.0.$k; done | xargs)"
is bench_json_complete true "$(value complete)"
for key in machine.cpu peak_gflops bandwidth_gbs versions.compiler versions.commit versions.flags \
    seed totals.0.gflops totals.0.peak_percent; do
    [ -n "$(value $key)" ] && [ "$(value $key)" != null ] ||
        fail "bench_json_$key" "'$(value $key)'"
done
is bench_json_gflops ok "$(awk -F '\t' '$1 ~ /^results/ { v[$1] = $2 } END {
    for (i = 0; i < 8; ++i) { p = "results." i "."
        want = 2e-6 * v[p "M"] * v[p "N"] * v[p "K"] / v[p "median_ms"]
        if (v[p "peak_percent"] == "null") bad = bad " " i " of peak"
        if (!(v[p "gflops"] > 0.98 * want && v[p "gflops"] < 1.02 * want)) bad = bad " " i
        if (v[p "min_ms"] > v[p "median_ms"]) bad = bad " " i " of min" }
    print bad == "" ? "ok" : "results" bad }' "$work/flat")"
"$bench" $quick --impl stock,transpose -s 33,17,20 --csv >"$work/csv" 2>"$work/err"
is bench_csv_columns "$(sed -n 's/^results\.0\.\([A-Za-z_]*\).*/\1/p' "$work/flat" | grep -v '^sample_' | xargs)" \
    "$(head -n 1 "$work/csv" | tr ',' ' ')"
is bench_csv_lines 3 "$(wc -l <"$work/csv")"
# Without peaks their columns are there, and empty, and nobody measures them.
is bench_peak_none 'peak_percent,bandwidth_percent , ,' "$(cut -d , -f 11,12 "$work/csv" | xargs)"
is bench_peak_none_measured 0 "$(grep -c 'peak and bandwidth' "$work/err")"
"$bench" --samples 9 --seconds 60 --threads 1 --seed 1 --peak none --impl stock,transpose -s 33,17,20 \
    >"$work/text" 2>"$work/err"
is bench_interval '1.00 1.00 1.00 ordered' "$(awk -F '|' '
    /^## Total/ { exit }
    $2 ~ /stock/ { split($13, end, "to"); printf "%.2f %.2f %.2f ", $12, end[1], end[2] }
    $2 ~ /transpose/ {
        split($13, end, "to")
        print 0 < end[1] && end[1] <= $12 + 0 && $12 + 0 <= end[2] + 0 ? "ordered" : $0
    }' "$work/text")"
# Rows with unequal numbers of samples, because the seconds end them.
"$bench" --samples 60 --seconds 0.05 --threads 1 --seed 1 --peak none --impl stock,packed,mkn,transpose \
    -s 100,100,100 -s 160,160,160 -s 64,300,30 >"$work/text" 2>"$work/err"
is bench_speedup_inside '12 ' "$(awk -F '|' '
    /^## Total/ { exit }
    $13 ~ / to / { split($13, end, "to"); if (!(end[1] + 0 <= $12 + 0 && $12 + 0 <= end[2] + 0)) print }
    $3 ~ /[0-9]/ { ++rows }
    END { printf "%d ", rows }' "$work/text")"
"$bench" $few --impl stock -s 33,17,20 >"$work/text" 2>"$work/err"
for word in '- machine' '- compiler' '- commit' '- peak' '## NN, M 33, N 17, K 20' '## Total'; do
    grep -q "^$word" "$work/text" || fail "bench_text" "no '$word'"
done
is bench_progress 1 "$(grep -c 'shape 1 of 1, 33x17x20' "$work/err")"
is bench_seed "$("$bench" $quick --impl stock -s 3,3,3 --json 2>&1 | grep '"seed"')" '  "seed": 1,'

# ---- samples ----
"$bench" --samples 9 --seconds 60 --threads 1 --seed 1 --peak none --impl stock,packed -s 33,17,20 \
    --json -o "$work/base.json" 2>"$work/err"
# The work in quarters, also where there is one shape.
is bench_quarters '25 50 75 100' "$(sed -n 's/^gemm-bench: \([0-9]*\)% after [0-9]* s, about [0-9]* s left$/\1/p' "$work/err" | xargs)"
"$flat" <"$work/base.json" >"$work/flat"
is bench_samples '9 ok' "$(awk -F '\t' '/^results\.0\.sample_s/ { print $2 }' "$work/flat" | sort -g |
    awk -v want="$(value results.0.median_ms)" '{ v[NR] = 1000 * $1 }
        END { print NR, (v[5] > 0.999 * want && v[5] < 1.001 * want ? "ok" : v[5]) }')"
is bench_rounds 9 "$(grep -c '^results\.1\.sample_rounds' "$work/flat")"

# ---- rows that leave a call to stock ----
# column NAME IMPL TB: of the CSV
column()
{
    awk -F , -v name="$1" -v impl="$2" -v tb="$3" '
        NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
        $at["impl"] == impl && $at["TB"] == tb { print $at[name] }' "$work/csv"
}
"$bench" $quick --impl stock,mnk_acc -s 16,70,27 --transposes NN,NT --csv >"$work/csv" 2>"$work/err"
is bench_declined '0 ok declined' "$? $(column status mnk_acc 0) $(column status mnk_acc 1)"
is bench_declined_ran ' stock' "$(column ran mnk_acc 0) $(column ran mnk_acc 1)"
is bench_declined_speedup '' "$(column speedup mnk_acc 1)"
is bench_declined_time 1 "$(column median_ms mnk_acc 1 | awk '{ print ($1 > 0) }')"
"$bench" $quick --impl stock,mnk_acc -s 16,70,27 --transposes NN,NT >"$work/text" 2>"$work/err"
is bench_declined_text '1 1' "$(grep -c 'mnk_acc .* declined: ran stock |$' "$work/text") $(
    grep -c 'mnk_acc .* incomplete: 1 of 2 shapes measured' "$work/text")"
"$bench" $quick --impl packed -s 2,3,4 -s 64,64,64 --json 2>"$work/err" | "$flat" >"$work/flat"
is bench_left_to_stock 'ok stock null 2' \
    "$(for k in results.0.status results.0.ran results.1.ran totals.0.shapes; do
        value $k
    done | xargs)"
expect_failure bench_checked 'GEMM_CHECK=1 would be timed too: unset it' \
    env GEMM_CHECK=1 "$bench" $quick --impl stock -s 3,3,3

# ---- memory ----
# bytes ROW OPTION...: copied by all calls of ROW
bytes()
{
    row=$1
    shift
    rm -f "$work/trace"
    GEMM_TRACE=$work/trace "$bench" $quick --impl "$row" -s 40,50,60 "$@" --json \
        >"$work/json" 2>"$work/err" || return 1
    "$flat" <"$work/json" >"$work/flat"
    awk -F , 'NR > 1 { n += $10 + $11 + $12 }
        END { print NR < 2 ? "no call" : n ? "copies" : "no copy" }' "$work/trace"
}
is bench_malloc_packed 'no copy malloc' "$(bytes packed) $(value memory)"
is bench_host_alloc_packed 'no copy gemm_host_alloc' "$(bytes packed --host-alloc) $(value memory)"
# On PoCL, which shares its memory with the CPU.
reason=$no_pocl
! use_pocl || reason=$("$bench" --list | awk -F '\t' '$1 == "cl" && $2 != "usable" { print $2 }')
if [ -n "$reason" ]; then
    skip bench_host_alloc "$reason"
else
    for row in cl cl+GEMM_THREADS=1; do
        is "bench_malloc_$row" 'copies malloc' "$(bytes $row) $(value memory)"
        is "bench_host_alloc_$row" 'no copy gemm_host_alloc' \
            "$(bytes $row --host-alloc) $(value memory)"
    done
    "$bench" $quick --impl stock,packed,cl,hybrid,auto --host-alloc -s 70,90,60 -s 300,700,20 \
        --transposes NN,TT --cold --csv >"$work/csv" 2>"$work/err"
    is bench_host_alloc_right '0 20' "$? $(grep -c ',ok,$' "$work/csv")"
    # One of these calls makes a block.
    for n in 32 40 24 48 16 56 8 64; do
        CL_FAIL_AT=$n OPENCL_LAYERS=$build/tests/layer_fail.so \
            "$bench" $quick --impl cl --host-alloc -s 9,9,9 >"$work/output" 2>&1
        status=$?
        grep -q 'no memory of the device' "$work/output" && break
    done
    is bench_host_alloc_none 1 "$status"
    is bench_host_alloc_none_said 1 "$(
        grep -c 'cl is failed for .*: no memory of the device for M=9 N=9 K=9$' "$work/output")"
fi

# ---- a library that crashes ----
mkdir "$work/fake"
${CC:-gcc} -shared -fPIC -o "$work/fake/libblis.so" tests/support/fake_blis.c || exit 1
outside=${LD_LIBRARY_PATH-}
export LD_LIBRARY_PATH="$work/fake${outside:+:$outside}"
for place in load version; do
    is "bench_crash_list_$place" '1 1' "$(FAKE_BLIS=$place "$bench" --list | awk -F '\t' '
        $1 == "blis" { n += $2 ~ /^unusable: a process that loads it was killed by signal 11 / }
        $1 == "stock" { n += $2 == "usable" }
        $1 == "onednn" { ++after }
        END { print n - 1, after }')"
    expect_failure "bench_crash_$place" \
        'blis cannot run here: a process that loads it was killed by signal 11' \
        env FAKE_BLIS=$place "$bench" $quick --impl blis,stock -s 9,9,9
    FAKE_BLIS=$place "$bench" $quick --impl refs,stock -s 9,9,9 --csv >"$work/csv" 2>"$work/err"
    is "bench_crash_group_$place" '0 1 0' \
        "$? $(grep -c '^stock,.*,ok,$' "$work/csv") $(grep -c ^blis "$work/csv")"
done
for place in threads crash; do
    FAKE_BLIS=$place "$bench" $quick --impl blis,stock -s 9,9,9 -s 20,20,20 --json \
        >"$work/json" 2>"$work/err"
    is "bench_crash_${place}_status" 1 $?
    "$flat" <"$work/json" >"$work/flat"
    is "bench_crash_$place" '1 2 2' "$(grep -c '^complete	true' "$work/flat") $(
        grep -c 'gemm-bench: blis is failed for .* its process was killed by signal 11' "$work/err"
        ) $(grep -c '^results.*status	ok' "$work/flat")"
done
FAKE_BLIS=crash "$build/bench/detect_all" --rows blis,packed cfg/yolov3-tiny.cfg "$weights" \
    data/kite.jpg >"$work/table" 2>"$work/err"
is detect_all_crash_status 1 $?
is detect_all_crash 1 "$(grep -c '^blis  *FAILED: its process was killed by' "$work/table")"
echo before >"$work/kept"
"$build/bench/detect_all" --rows packed --out "$work/kept" cfg/yolov3-tiny.cfg "$weights" none.jpg >/dev/null 2>&1
is detect_all_keeps 'before' "$(cat "$work/kept")"
"$build/bench/detect_all" --rows stock --out "$work/kept" cfg/yolov3-tiny.cfg "$weights" data/kite.jpg >/dev/null 2>&1
is detect_all_baseline 'stock 1.00' "$(awk '$1 == "stock" { print $1, $3 }' "$work/kept")"
"$build/bench/detect_all" --rows stok cfg/yolov3-tiny.cfg "$weights" data/kite.jpg >"$work/out" 2>&1
is detect_all_names "2 detect_all: 'stok' is no variant; did you mean stock? gemm-bench --list has all" "$? $(cat "$work/out")"
OCL_ICD_VENDORS=/nowhere "$build/bench/detect_all" --rows cl,mkn cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg >"$work/out" 2>"$work/err"
is detect_all_cpu_first 'mkn cl ' "$(awk 'NR > 1 { printf "%s ", $1 }' "$work/out")"
is detect_all_estimate 1 "$(grep -c '^detect_all: 2 rows, 1 pictures each; a pass of stock takes [0-9.]* s$' "$work/err")"
is detect_all_goes_on 1 "$(grep -c '^packed .* yes ' "$work/table")"
export LD_LIBRARY_PATH="$outside"

# ---- other people's libraries, where they are installed ----
for ref in openblas blis onednn; do
    reason=$("$bench" --list | awk -F '\t' -v r=$ref '$1 == r && $2 != "usable" { print $2 }')
    if [ -n "$reason" ]; then skip "bench_$ref" "$reason"; continue; fi
    "$bench" $quick --threads 2 --impl $ref,$ref@1 -s 33,65,17 -s 1,100,9 -s 64,1,300 \
        --transposes NN,NT,TN,TT --csv >"$work/csv" 2>"$work/err"
    is "bench_$ref" '0 24' "$? $(grep -c ',ok,$' "$work/csv")"
done
is bench_auto_is_no_reference 0 "$(
    "$bench" $quick --impl auto -s 64,64,64 -s 300,300,300 --csv 2>/dev/null |
    grep -c 'openblas\|blis\|onednn')"

# ---- wrong on purpose ----
# caught HOW STATUS-OF-THE-ROW
caught()
{
    GEMM_TEST_WRONG=$1 "$wrong" $quick --impl transpose,stock -s 16,700,27 -s 40,40,4608 --csv \
        >"$work/csv" 2>"$work/err"
    is "bench_caught_$1_status" 1 $?
    is "bench_caught_$1" "2 0 2" "$(awk -F , -v s="$2" '
        $1 == "stock" && $21 == s { ++caught } $1 == "stock" && $8 != "" { ++timed }
        $1 == "transpose" && $21 == "ok" && $8 > 0 { ++good }
        END { print caught + 0, timed + 0, good + 0 }' "$work/csv")"
}
caught product wrong
caught nan wrong
caught nothing wrong
GEMM_TEST_WRONG=late "$wrong" $quick --impl stock -s 64,200,64 >"$work/text" 2>"$work/err"
is bench_caught_late "1 1" "$? $(
    grep -c 'stock is wrong for M=64 N=200 K=64 .* after [0-9]* calls' "$work/err")"
"$wrong" $quick --impl transpose,stock+GEMM_TEST_WRONG=die -s 16,70,27 --csv \
    >"$work/csv" 2>"$work/err"
is bench_died "1 1 1" "$? $(
    grep -c 'its process was killed by signal 11 (Segmentation fault)' "$work/err") $(
    grep -c '^transpose,.*,ok,' "$work/csv")"
"$wrong" $quick --impl stock,stock+GEMM_TEST_WRONG=product -s 16,70,27 --csv \
    >"$work/csv" 2>"$work/err"
is bench_own_environment "1 ok wrong" "$? $(sed 1d "$work/csv" | cut -d , -f 21 | xargs)"
timeout 20 "$bench" $quick --impl stock+GEMM_ISA=generic,packed+GEMM_ISA=generic -s 16,70,27 --csv \
    >"$work/csv" 2>"$work/err"
is bench_two_environments "0 ok ok" "$? $(sed 1d "$work/csv" | cut -d , -f 21 | xargs)"
for how in product nan; do
    expect_failure "check_caught_$how" 'GEMM_CHECK: stock is wrong' \
        env GEMM_CHECK=1 GEMM_TEST_WRONG=$how "$build/tests/wrong_check"
done
GEMM_CHECK=1 "$build/tests/wrong_check" 2>/dev/null
is check_right 0 $?

# ---- a full disk, a closed pipe, Ctrl-C ----
for format in --csv --json ''; do
    expect_failure "bench_full_disk$format" \
        'standard output could not be written: No space left on device' \
        sh -c "'$bench' $quick --impl stock -s 3,3,3 $format >/dev/full"
    expect_failure "bench_full_file$format" \
        '/dev/full could not be written: No space left on device' \
        "$bench" $quick --impl stock -s 3,3,3 $format -o /dev/full
done
# `| head` ends it at once and without a word.
{ "$bench" $quick --impl stock -s 3,3,3 -s 5,5,5 --csv 2>"$work/err"; echo $? >"$work/status"; } | :
is bench_closed_pipe '141 0' "$(cat "$work/status") $(grep -c written "$work/err")"
expect_failure bench_full_list 'could not be written: No space left' \
    sh -c "'$bench' --list >/dev/full"

"$bench" --samples 1000 --seconds 60 --threads 1 --peak none --impl stock,transpose+GEMM_THREADS=1 \
    -s 8,8,8 -s 700,700,700 --csv >"$work/csv" 2>"$work/err" &
pid=$!
for i in $(seq 900); do
    [ "$(wc -l <"$work/csv")" -ge 3 ] && break
    sleep 0.1
done
for i in $(seq 100); do
    children=$(cat /proc/$pid/task/$pid/children)
    [ -z "$children" ] || break
    sleep 0.1
done
sleep 1
kill -INT $pid
wait $pid
is bench_interrupt_status 130 $?
is bench_interrupt_rows 2 "$(grep -c ',8,8,8,.*,ok,$' "$work/csv")"
is bench_interrupt_children 1 "$(echo $children | wc -w)"
for child in $children; do
    [ -d /proc/$child ] && fail bench_interrupt_stray "process $child is left"
done

finish
