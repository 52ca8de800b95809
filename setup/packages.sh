#!/bin/sh
# Looks which Debian packages are missing.
#
#   setup/packages.sh install PACKAGE...      installs them
#   setup/packages.sh require PACKAGE...      names them, and fails when there are any
#   setup/packages.sh name PACKAGE...         names them
#
# Without apt, install and require print what is needed and go on: the build will say what it cannot
# find.
set -eu

mode=$1
shift
if ! command -v dpkg-query >/dev/null 2>&1; then
    [ "$mode" = name ] || echo "No apt here. These Debian packages, or what your system calls them, are needed: $*" >&2
    exit 0
fi

missing=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | awk -v wanted="$*" '
    $1 == "installed" { have[$2] = 1 }
    END { n = split(wanted, names, " "); for (i = 1; i <= n; ++i) if (!(names[i] in have)) print names[i] }' |
    sort -u | tr '\n' ' ')
missing=${missing% }
[ -n "$missing" ] || exit 0

case $mode in
name)
    echo "Missing Debian packages (make packages installs them): $missing" >&2
    exit 0 ;;
require)
    echo "Missing Debian packages: $missing" >&2
    exit 1 ;;
esac

as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "Missing Debian packages, and neither root nor sudo to install them: $missing" >&2
        exit 1
    fi
    as_root=sudo
fi

echo "Installing Debian packages: $missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $as_root apt-get update && $as_root apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    echo "apt-get could not install: $missing" >&2
    exit 1
fi
