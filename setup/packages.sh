#!/bin/sh
# Installs the Debian packages that are missing.
#
#   setup/packages.sh PACKAGE...      DEPS=0: only checks, and fails when one is missing
#
# Without apt, prints what is needed and goes on: the build will say what it cannot find.
set -eu

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "No apt here. These Debian packages, or what your system calls them, are needed: $*" >&2
    exit 0
fi

missing=
for package in "$@"; do
    case $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) in
        installed) ;;
        *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

if [ "${DEPS:-1}" = 0 ]; then
    echo "Missing Debian packages:$missing" >&2
    exit 1
fi

as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "Missing Debian packages, and neither root nor sudo to install them:$missing" >&2
        exit 1
    fi
    as_root=sudo
fi

echo "Installing Debian packages:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $as_root apt-get update && $as_root apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    echo "apt-get could not install:$missing" >&2
    exit 1
fi
