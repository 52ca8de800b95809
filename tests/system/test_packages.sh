#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/support/packages.sh, what `make test ON=packages` runs, with programs that only pretend: what it says of
# each architecture, and when it begins at all.
. tests/support/lib.sh

mkdir "$work/bin" "$work/tmp"
# fake NAME: the script on standard input. $last is the last argument.
fake()
{
    { printf '#!/bin/sh\nfor last; do :; done\n' && cat; } >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}
fake id <<'END'
echo 0
END
fake apt-get <<'END'
echo http://nowhere/debian
END
fake df <<'END'
printf 'Filesystem\n/dev/x 1 1 %d 1%% /\n' $((${FREE:-7} * 1048576))
END
fake git <<'END'
[ "$1" != clone ] || mkdir "$last"
END
fake mmdebstrap <<'END'
case "$*" in *riscv64*) echo 'E: no such mirror' >&2; exit 25 ;; esac
for argument; do case $argument in */system) mkdir "$argument" || exit 1 ;; esac; done
END
# The command inside of the system.
fake unshare <<'END'
case $last in
*'make deb '*armhf) exit 124 ;;
*'make deb '*) ;;
*multiply*) for i in 1 2 3 4 5; do echo "ok - $i"; done ;;
*'make test-quick CROSS_COMPILE=aarch64'*) echo 'ok - more'; echo status 124 ;;
*'make test-quick '*) echo '10 passed, 0 failed, 2 skipped'; echo status 0 ;;
esac
END
fake dpkg-architecture <<'END'
case $1 in -aarm64) echo aarch64-linux-gnu ;; *) echo other-linux-gnu ;; esac
END

packages() { PATH=$work/bin:$PATH TMPDIR=$work/tmp PACKAGES_LIMIT=50 tests/support/packages.sh "$@"; }

packages riscv64 i386 armhf arm64 >"$work/said" 2>&1
check packages-status [ $? = 1 ]
sed -n '/^== all/,$s/([0-9]* s)/(S s)/p' "$work/said" >"$work/sums"
cat >"$work/expected" <<'END'
riscv64: 0 passed, 1 failed, 0 skipped (S s)
i386: 16 passed, 0 failed, 2 skipped (S s)
armhf: 15 passed, 1 failed, 2 skipped (S s)
arm64: 7 passed, 1 failed, 0 skipped (S s)
END
check packages-sums diff "$work/expected" "$work/sums"
check packages-limit-deb grep -qx 'make deb was ended after PACKAGES_LIMIT=50 seconds' "$work/said"
check packages-limit-tests grep -qx 'arm64: make test-quick was ended after PACKAGES_LIMIT=50 seconds' "$work/said"
check packages-well packages i386
expect_failure packages-unknown "ARCHES: 'i486' is none of arm64, armhf, riscv64 and i386" packages i386 i486
FREE=3 expect_failure packages-no-room "needs 6 GiB in $work/tmp (TMPDIR), and 3 are free" packages i386
check packages-nothing-left [ -z "$(ls "$work/tmp")" ]

finish
