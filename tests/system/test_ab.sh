#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/ab with a fake darknet: verdicts, comparison of detections, wrong options and failures.
#
#   tests/system/test_ab.sh AB DATA       AB: the program; DATA: a folder with kite.jpg and dog.jpg
. tests/support/lib.sh
ab=$(realpath "$1") data=$(realpath "$2") fake=$root/tests/support/fake_darknet.sh
dir=$work/here
mkdir "$dir" && cd "$dir" || exit 2
mkdir cfg && ln -s "$data" data
printf '[net]\n[convolutional]\n[yolo]\n' >cfg/boxes.cfg
printf '[net]\n[convolutional]\n[softmax]\n' >cfg/none.cfg
echo w >toy.weights
echo w >toy-untrained.weights

# check WHAT COMMAND...: the command must succeed; what ab said is shown when it does not
check()
{
    what=$1
    shift
    if "$@"; then pass "ab: $what"; else fail "ab: $what" "$(tail -n 6 out err)"; fi
}

# run_ab STATUS OPTIONS...: runs ab on the toy network; out and err are what it said.
run_ab() {
    want=$1
    shift
    "$ab" --bin-a "$fake" --bin-b "$fake" --cfg cfg/boxes.cfg --weights toy.weights --out o \
        --name t "$@" >out 2>err
    got=$?
    check "status $got, not $want: $*" [ $got = "$want" ]
}
says() { check "'$2' in $1" grep -q -- "$2" "$1"; }
verdict() { says o/t.json "\"$1\": {" && check "$1: $2" [ "$(awk -v key="\"$1\": {" \
    'index($0, key) { on = 1 } on && /"verdict"/ { gsub(/.*"verdict": "|".*/, ""); print; exit }' \
    o/t.json)" = "$2" ]; }
# A busy machine may need more looks than an idle one: what depends on it is computed from their number.
looks() { sed -n 's/^- looks at the samples: \([1-5]\) of at most 5, each after [0-9]* rounds$/\1/p' out; }
field_count() { awk -F, 'NR > 1 && NF != 10 { bad = 1 } END { exit bad || NR != '"$1"' }' o/t.csv; }

# Verdicts
run_ab 0 -n 8 --env-a FAKE_MS=40 --env-b FAKE_MS=2
verdict predicted faster
verdict wall faster
says out 'Verdict: \*\*faster\*\*'
says o/t.md 'A: FAKE_MS=40 '
says err 'A against A, round 8 of 8'
says err 'round 8 of at most 40'
# header, trial x 2, 8 x (first, warm-up, control) x 2, and for each look 8 x (first, warm-up, measured) x 2
check 'a row for every image' field_count $((1 + 2 + 48 + 48 * $(looks)))
check 'rows of A' [ "$(grep -c ',A,' o/t.csv)" = $((1 + 24 + 24 * $(looks))) ]
check 'rows of the control' [ "$(grep -c '^control,.*,A2,' o/t.csv)" = 8 ]
says err '^ab: "Predicted in": A against A 1.000 (1.000 to 1.000); 8 rounds can tell a difference of 1.0% apart, 40 rounds 1.0%$'
check 'said before B is measured' [ "$(awk '/A against A 1.000/ { said = NR } /ab: round 1 of/ { round = NR }
    END { print (said && round > said) }' err)" = 1 ]
check 'a control in the JSON' [ "$(grep -c '"control": {"n": 8, "ratio": ' o/t.json)" = 2 ]
run_ab 0 -n 8 --env-a FAKE_MS=2 --env-b FAKE_MS=8
verdict predicted slower
run_ab 3 -n 8 --env-a FAKE_MS=2 --env-b FAKE_MS=8 --fail-if-slower
run_ab 0 -n 8 --env-a FAKE_MS=8 --env-b FAKE_MS=2 --fail-if-slower
run_ab 0 -n 8 --a row --b row
verdict predicted 'no difference shown'
# With --least 0 no verdict of equal times ever stands, so the run goes on to its limit.
run_ab 0 -n 6 --a row --b row --least 0 --looks 2
says out 'looks at the samples: 2 of at most 2, each after 6 rounds'
check 'rounds of both looks' [ "$(awk -F, '$1 == "measured" { n++; r[$2] } END { for (i in r) m++; print n, m }' o/t.csv)" = '24 12' ]
run_ab 0 -n 6 --looks 1 --no-control --env-a FAKE_MS=8 --env-b FAKE_MS=2
check 'no control' [ "$(grep -c control o/t.csv)" = 0 ]
verdict predicted faster
# Chance alone may call the wall time of equal sides slower: a few runs in a hundred at 1%.
run_ab 0 -n 8 --a row --b row --least 100 --fail-if-slower
run_ab 0 -n 3 --env-a FAKE_MS=8 --env-b FAKE_MS=2       # too few rounds to tell
verdict predicted 'no difference shown'
says err 'a verdict needs 6 rounds or more, not 3'
run_ab 0 -n 2 --image data/kite.jpg --image data/dog.jpg --idle-ms 25 --warmup 0 --seed 7
check 'both images' grep -q 'dog.jpg' o/t.csv
check 'seed is said' grep -q '"seed": 7' o/t.json
run_ab 0 -n 1 --weights toy-untrained.weights
says err 'untrained'
says o/t.md 'untrained'
run_ab 0 -n 6 --cfg cfg/none.cfg --env-a FAKE_MS=20 --env-b FAKE_MS=2
verdict predicted faster
says out 'not compared'
# Six pairs cannot be below Pocock's limit, so there is a second look.
check 'more than one look' [ "$(looks)" -ge 2 ]
check 'a row for every run' field_count $((1 + 2 + 12 + 12 * $(looks)))     # header, first x 2, 6 x control x 2 ...

# Detections
run_ab 4 -n 6 --env-a FAKE_MS=8 --env-b FAKE_MS=2 --env-b 'FAKE_LABELS=kite:94%'
verdict predicted void
says err 'only A has'
run_ab 4 -n 6 --env-b 'FAKE_DRAWING=data/dog.jpg'
verdict wall void
says err 'drawings'

# Two commits: each is built once, from the named Darknet, and the report has their names.
mkdir repository && (cd repository && git init -q && git config user.name t && git config user.email t@t && mkdir tests &&
    cp -r "$root/tests/support" tests/ &&
    for ms in 20 2; do
        printf 'darknet: ; cp %s $@.real; echo "$(DARKNET_SRC) $(OPENCL)$(A)" >said; printf "#!/bin/sh\\nFAKE_MS=%s exec $(CURDIR)/darknet.real \\"\\$$@\\"\\n" >$@; chmod +x $@\n' "$fake" $ms >Makefile
        git add Makefile && git commit -qm "$ms ms" && git tag "ms$ms"
    done)
commits() { (cd repository && MAKEFLAGS='-- A=leaks' MAKE_ARGUMENTS=OPENCL=0 "$root/bench/ab/commits.sh" "$dir/built" "$@"); }
commits ms20 ms2 /a/darknet sh -c 'echo "$@" >../words' - >out 2>err
check 'commits: status 0' [ $? = 0 ]
check 'commits: both are built' [ "$(grep -c '^ab: building [0-9a-f]\{40\} in ' err)" = 2 ]
check 'commits: from the named Darknet' [ "$(sort -u built/*/said)" = '/a/darknet 0' ]
check 'commits: names' grep -q -- '--label-a ms20 --label-b ms2$' words
ln -s "$dir/cfg" repository/cfg
ln -s "$data" repository/data
commits ms20 HEAD /a/darknet "$ab" --cfg cfg/boxes.cfg --weights "$dir/toy.weights" \
    --out "$dir/o" --name t -n 6 --looks 1 --no-control >out 2>err
check 'commits: compared' [ $? = 0 ]
check 'commits: built once' [ "$(grep -c building err)" = 0 ]
says out '^# A/B: ms20 against HEAD$'
verdict predicted faster
commits nothing HEAD /a/darknet true >out 2>err
check 'commits: no such one' [ "$? $(cat err)" = "2 ab: A='nothing' is no commit, tag or branch of this repository" ]
commits ms20 nothing /a/darknet >out 2>err
check 'commits: no such one, looked for alone' [ "$? $(cat err)" = "2 ab: B='nothing' is no commit, tag or branch of this repository" ]
rm -rf looked && (cd repository && "$root/bench/ab/commits.sh" "$dir/looked" ms20 ms2 /a/darknet) >out 2>err
check 'commits: looked for alone, nothing is built' [ "$? $(cat err)" = '0 ' ] && check 'commits: no folder' [ ! -e looked ]
echo more >>repository/Makefile
commits ms20 ms2 /a/darknet >out 2>err
check 'commits: changes are left out' [ "$? $(cat err)" = '0 ab: 1 changed files are left out: only what is committed is built' ]
(cd repository && git checkout -q Makefile)
(cd repository && echo 'darknet: ; @echo broken; false' >Makefile && git commit -qam broken)
commits ms20 HEAD /a/darknet true >out 2>err
check 'commits: cannot be built' [ $? = 1 ]
says err broken

# What can go wrong
run_ab 1 -n 8 --env-b 'FAKE_FAIL=segv FAKE_AT=2'
says err 'B (FAKE_FAIL=segv FAKE_AT=2) was killed by signal 11'
run_ab 1 -n 8 --rounds 1 --env-a FAKE_FAIL=exit3
says err 'ended with status 3 at image data/kite.jpg'
says err '| out of memory'
verdict predicted none
check 'samples before it are kept' [ "$(grep -c '^measured,.*,B,' o/t.csv)" -ge 2 ]
run_ab 1 -n 8 --rounds 1 --env-a FAKE_FAIL=missing
says err 'Cannot load image'
run_ab 1 -n 8 --rounds 1 --env-a FAKE_FAIL=mute
says err 'printed no time'
run_ab 1 -n 8 --rounds 1 --env-a FAKE_FAIL=hang --timeout 0.5
says err 'gave no answer for 0.5 s'
# A side that never gives a time: one line, no table, no file.
cannot_start()
{
    message=$1
    shift
    rm -rf o
    run_ab 2 -n 8 "$@"
    check "$message" [ "$(cat err)" = "ab: $message" ]
    check 'no table' [ ! -s out ]
    check 'no file' [ -z "$(ls o)" ]
}
cannot_start 'B (FAKE_FAIL=exit3 FAKE_AT=1) ended with status 3 at image data/kite.jpg: out of memory' \
    --env-b 'FAKE_FAIL=exit3 FAKE_AT=1'
cannot_start 'A (FAKE_FAIL=exit3 FAKE_AT=1) ended with status 3 at image data/kite.jpg: out of memory' \
    --env-a 'FAKE_FAIL=exit3 FAKE_AT=1'
cannot_start 'B (FAKE_FAIL=segv) was killed by signal 11 (Segmentation fault) in darknet speed' \
    --cfg cfg/none.cfg --env-b FAKE_FAIL=segv
run_ab 1 -n 8 --cfg cfg/none.cfg --env-b FAKE_FAIL=mute
says err 'without a time'
run_ab 1 --image data/none.jpg
says err 'cannot read data/none.jpg'
run_ab 1 --image data
says err 'cannot read data: Is a directory'
run_ab 1 --weights none.weights
run_ab 1 --cfg none.cfg
run_ab 1 --bin-a ./none
mv cfg gone
run_ab 1 --cfg gone/boxes.cfg
says err 'no cfg/ here'
mv gone cfg

# wrong_option MESSAGE OPTION...: status 2, and one line on standard error
wrong_option()
{
    message=$1
    shift
    run_ab 2 "$@"
    says err "$message"
    check "one line: $*" [ "$(wc -l <err)" = 1 ]
}
# An option with a number takes nothing but a number in its range.
for value in '' x 1x ' 1' 0x1 nan inf -1 1e99; do
    for option in --rounds --warmup --seed -n; do
        wrong_option "ab: $option '$value': a whole number from [01] to [0-9]* is needed" \
            "$option" "$value"
    done
    for option in --idle-ms --timeout --least; do
        wrong_option "ab: $option '$value': a number from [01.]* to [0-9]* is needed" \
            "$option" "$value"
    done
done
wrong_option "'0': a whole number from 1 to 1000 is needed" --rounds 0
wrong_option "ab: --looks '6': a whole number from 1 to 5 is needed" --looks 6
wrong_option "'0.5': a whole number" --seed 0.5
wrong_option "ab: --env-a 'nonsense': NAME=value is needed" --env-a nonsense
wrong_option "unrecognized option '--nonsense'" --nonsense
wrong_option "requires an argument" -n
wrong_option "ab: unexpected argument 'more'" more
# Rows of this build, which ./darknet is of. Another program judges its own.
unknown_row()
{
    message=$1
    shift
    "$ab" "$@" >out 2>err
    check "status 2: $*" [ $? = 2 ]
    check "$message" [ "$(cat err)" = "ab: $message" ]
}
unknown_row 'A=stok: no such variant; did you mean stock? gemm-bench --list has all' --a stok
unknown_row 'B=nothing: no such variant; gemm-bench --list has all' --a stock --b nothing
unknown_row 'B=nothing: no such variant; gemm-bench --list has all' --check --a stock --b nothing
"$ab" --check --a stock --b packed >out 2>err
check 'only judged' [ "$? $(cat out err)" = '0 ' ]
"$ab" >out 2>err
check 'nothing to compare' [ "$? $(grep -c 'ab: nothing to compare: ' err)" = '2 1' ]
run_ab 1 --out /dev/null/x
says err 'cannot make /dev/null/x: Not a directory'
run_ab 0 --help
says out '^usage: ab '

for ending in csv md json; do
    rm -rf o && mkdir o
    ln -s /dev/full o/t.$ending
    run_ab 1 -n 6 --looks 1 --no-control
    says err "cannot write o/t.$ending: No space left on device"
    [ $ending != csv ] || check 'noticed before anything runs' sh -c '! grep -q "round 1" err'
done
rm -rf o

# Interrupted: what was measured stays, nothing else does.
# A zombie does not count: a container may have nobody who buries it.
alive() { while read -r pid; do
    kill -0 "$pid" 2>/dev/null && ! grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null && return 0
done <pids; return 1; }
gone() { for _ in 1 2 3 4 5 6 7 8 9 10; do alive || return 0; sleep 0.1; done; return 1; }
interrupt() {
    rm -f pids
    FAKE_PIDS=$dir/pids "$ab" --bin-a "$fake" --bin-b "$fake" --cfg cfg/boxes.cfg --out o --name t \
        --weights toy.weights -n 1000 --rounds 1 --env-a FAKE_MS=20 --env-b FAKE_MS=20 >out 2>err &
    pid=$!
    for _ in $(seq 100); do
        [ "$(grep -c '^measured' o/t.csv 2>/dev/null)" -ge 8 ] 2>/dev/null && break
        sleep 0.05
    done
    kill "-$1" $pid
    { wait $pid; } 2>/dev/null        # the shell would say "Killed"
    check "status after $1" [ $? = "$2" ]
    check "no process is left after $1" gone
}
rm -f o/t.csv
interrupt INT 130
says err 'interrupted by signal 2'
verdict predicted none
check 'samples are kept' [ "$(grep -c '^measured' o/t.csv)" -ge 4 ]
rm -f o/t.csv
interrupt TERM 143
check 'no folder is left' [ -z "$(find o -name '.run-*')" ]
rm -f o/t.csv
FAKE_FAIL=hang FAKE_AT=7 interrupt KILL 137 2>stray      # one that would not notice a closed pipe
check 'no stray line' [ ! -s stray ]

finish
