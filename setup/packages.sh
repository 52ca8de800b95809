#!/bin/sh
# SPDX-License-Identifier: MIT
# Looks which Debian packages are missing.
#
#   setup/packages.sh install PACKAGE... [-- PATTERN...]      installs them
#   setup/packages.sh require PACKAGE... [-- PATTERN...]      names them, and fails when there are any
#   setup/packages.sh name PACKAGE... [-- PATTERN...]         names them; status 3: there are any
#   setup/packages.sh lacking -- PATTERN...                   the patterns for which this system has no package
#
# A PATTERN stands for an optional package, whose name may hold a number that differs between
# releases: libdnnl[0-9]*. The newest one is taken. Where the system offers none, that is said, and
# nothing stops.
#
# Without apt, install and require print what is needed and go on: the build will say what it cannot
# find.
set -euf
export LC_ALL=C

mode=$1
shift
wanted='' optional=''
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    wanted="$wanted $1"
    shift
done
if [ $# -gt 0 ]; then
    shift
    optional=$*
fi

if ! command -v dpkg-query >/dev/null 2>&1; then
    case $mode in
    install | require)
        echo "No apt here. These Debian packages, or what your system calls them, are needed:$wanted" >&2 ;;
    esac
    exit 0
fi

have=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted $optional 2>/dev/null | sed -n 's/^installed //p')

# absent PATTERN...: those of which no package is installed
absent()
{
    for pattern; do
        for name in $have ''; do
            case $name in $pattern) break ;; esac
        done
        [ -n "$name" ] || echo "$pattern"
    done
}

# offered PATTERN: the newest package of such a name that could be installed
offered()
{
    for name in $(apt-cache pkgnames "${1%%[[*?]*}" 2>/dev/null | sort -rV); do
        case $name in
        $1)
            if apt-cache policy "$name" | grep -q '^  Candidate: [^(]'; then
                echo "$name"
                return
            fi ;;
        esac
    done
}

# Has apt lists of what it offers? Without them nothing can be said about a package.
has_lists() { apt-cache policy 2>/dev/null | grep -q '^ *[0-9]* [a-z+]*:'; }

# offered_all PATTERN...: what of them could be installed
offered_all()
{
    for name; do offered "$name"; done
}

if [ $mode = lacking ]; then
    has_lists || exit 0
    for pattern in $(absent $optional); do
        [ -n "$(offered "$pattern")" ] || echo "$pattern"
    done
    exit 0
fi

missing=$(absent $wanted | sort -u | tr '\n' ' ')
missing=${missing% }
optional=$(absent $optional | sort -u)
# What the system does not offer is no reason to ask its mirror again.
if [ -z "$missing" ] && has_lists; then optional=$(offered_all $optional); fi
[ -n "$missing$optional" ] || exit 0

case $mode in
name | require)
    all=$(echo $missing $optional)
    [ $mode = require ] || echo "Missing Debian packages (make packages installs them): $all" >&2
    [ $mode = name ] || echo "Missing Debian packages: $all" >&2
    [ $mode = require ] || exit 3
    [ -z "$missing" ]
    exit ;;
esac

as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "Missing Debian packages, and neither root nor sudo to install them: $(echo $missing $optional)" >&2
        [ -z "$missing" ]
        exit
    fi
    as_root=sudo
fi

export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() { $as_root apt-get install -y --no-install-recommends "$@" >"$log" 2>&1; }

echo "Installing Debian packages: $(echo $missing $optional)"
if ! $as_root apt-get update >"$log" 2>&1; then tail -n 5 "$log" >&2; fi
if [ -n "$missing" ] && ! install $missing; then
    tail -n 15 "$log" >&2
    echo "apt-get could not install: $missing" >&2
    exit 1
fi
# One by one, so that one that cannot be installed stops no other.
for pattern in $optional; do
    package=$(offered "$pattern")
    if [ -z "$package" ]; then
        echo "Not among this system's packages, so left out: $pattern"
    elif ! install "$package"; then
        tail -n 5 "$log" >&2
        echo "apt-get could not install $package, which is optional: left out" >&2
    fi
done
