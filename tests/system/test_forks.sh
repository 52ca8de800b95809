#!/bin/sh
# SPDX-License-Identifier: MIT
# Every lock of src/ is renewed in the child of a fork, by a function of GEMM_IN_CHILD or pthread_atfork, or by
# one that it calls (util/forked.h). A lock that another thread of the parent held stays locked there otherwise.
#
# A lock is a variable or a member of a type of pthread.h or semaphore.h, an atomic_flag or an `owner` of threads.c,
# and an atomic for which a loop waits.
. tests/support/lib.sh

# locks FILE...: "FILE LOCK renewed", "FILE LOCK lacking", or "FILE LOCK unseen" where it is used but not found, a line
locks()
{
    awk '
        function renews(name,   f, lines, n, i) {
            for (f in handler) {
                n = split(body[f], lines, "\n")
                for (i = 1; i <= n; ++i)
                    if (lines[i] ~ "(^|[^a-z_A-Z0-9])" name "([^a-z_A-Z0-9]|$)" && lines[i] ~ /_init\(|= fresh|leave\(|_clear\(|_store\(/)
                        return 1
            }
            return 0
        }
        function end_file(   name, f, g) {
            for (f in handler)
                for (g in body)
                    if (index(body[f], " " g "(")) handler[g] = 1
            for (name in lock) print file, name, renews(name) ? "renewed" : "lacking"
            for (name in used) if (!(name in lock)) print file, name, "unseen"
            split("", lock)
            split("", used)
            split("", body)
            split("", handler)
        }
        function take_locks(line,   names, n, i) {
            sub(type, "", line)
            sub(/ *[=;].*/, "", line)
            n = split(line, names, / *, */)
            for (i = 1; i <= n; ++i) {
                sub(/\[.*/, "", names[i])
                if (names[i] !~ /\*/) lock[names[i]] = 1
            }
        }
        # The last name of the first argument of the last call of that kind.
        function argument(line, call) {
            sub(".*" call "\\(&", "", line)
            sub(/[,)].*/, "", line)
            sub(/.*(\.|->)/, "", line)
            return line
        }
        BEGIN {
            load = "atomic_(load|exchange|compare_exchange_weak|compare_exchange_strong)"
            waits = "(while|for) \\((.*;)? *(!?" load "\\(&[^()]*\\)( (!=|\\|\\|).*)?\\)|" load "\\(&[^()]*\\) [!=]=)"
            takes = "pthread_(mutex_lock|mutex_trylock|cond_wait|cond_timedwait|once|rwlock_rdlock|rwlock_wrlock|spin_lock)"
            type = "^ *(static +)?(pthread_(mutex|cond|once|rwlock|spinlock|barrier)_t|sem_t|atomic_flag|owner) +"
        }
        FNR == 1 { end_file(); file = FILENAME; depth = 0 }
        {
            sub(/\/\*.*/, "")
            sub(/ *\\$/, "")                    # a macro, whose names begin with that of a function
            gsub(/function##/, "function")
        }
        $0 ~ type "[a-z_A-Z0-9*]" && !/\(/ { take_locks($0) }
        $0 ~ takes "\\(&" { used[argument($0, takes)] = 1 }
        $0 ~ waits && !/_wait\(/ { lock[argument($0, load)] = 1 }
        /GEMM_IN_CHILD\([a-z_]+\)/ { f = $0; sub(/.*GEMM_IN_CHILD\(/, "", f); sub(/\).*/, "", f); handler[f] = 1 }
        /pthread_atfork\(/ { f = $0; sub(/\).*/, "", f); sub(/.*, */, "", f); handler[f] = 1 }
        !depth && /^ *static void [a-z_]+\(/ { current = $3; sub(/\(.*/, "", current) }
        depth { body[current] = body[current] "\n" $0 }
        { depth += gsub(/[{]/, "{") - gsub(/[}]/, "}") }
        !depth && /}/ { current = "" }
        END { end_file() }' "$@"
}

# Three locks that a child renews, four that it does not, and one whose type is not known.
cat >"$work/made.c" <<'END'
static pthread_mutex_t good = PTHREAD_MUTEX_INITIALIZER;
static owner mine;
static my_mutex other;
static atomic_bool held, spun;
static struct {
    pthread_cond_t first, second;       /* a comment */
} all;
static void renew(void)
{
    pthread_mutex_init(&good, NULL);
    if (good) {
        leave(&mine);
        atomic_store(&held, false);
    }
}
static void after_fork(void)
{
    renew();
}
GEMM_IN_CHILD(after_fork)
static void work(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_cond_init(&all.first, NULL);
    pthread_mutex_lock(&other);
    while (atomic_exchange(&spun, true)) relax();
    for (int tries = 0; atomic_load(&held) != 0; ++tries) relax();
}
END
found=$(locks "$work/made.c" | sed 's/^[^ ]* //' | sort | tr '\n' ' ')
wanted='first lacking good renewed held renewed mine renewed once lacking other unseen second lacking spun lacking '
if [ "$found" = "$wanted" ]; then pass made-up-locks; else fail made-up-locks "$found"; fi

locks $(find src -name '*.[ch]' | sort) >"$work/locks"
awk '$3 == "lacking" { print $1 ": no child renews " $2 }
     $3 == "unseen" { print $1 ": " $2 " is no lock that this test knows" }' "$work/locks" >"$work/wrong"
if [ -s "$work/wrong" ]; then
    fail every-lock-is-renewed "$(cat "$work/wrong")"
elif [ "$(wc -l <"$work/locks")" -lt 20 ]; then
    fail every-lock-is-renewed "too few locks are found: $(wc -l <"$work/locks")"
else
    pass every-lock-is-renewed
fi

finish
