# SPDX-License-Identifier: MIT
# For scripts with systems in folders, $folder/NAME, whose project is in /project/darknet-gemm.

# inside NAME USER COMMAND: in the project's folder of that system, with the variables of this shell
# that matter there. Its processes end with it. Where there is $folder/ccache, compilers use this cache.
inside()
{
    unshare --mount --propagation private --pid --fork --kill-child sh -c '
        mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" || exit 1
        CCACHE_DIR= CCACHE_UMASK=
        if [ -d "${1%/*}/ccache" ]; then
            mkdir -p "$1/ccache" && mount --bind "${1%/*}/ccache" "$1/ccache" || exit 1
            CCACHE_DIR=/ccache CCACHE_UMASK=000
        fi
        set -- "$@" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
        for name in http_proxy https_proxy no_proxy GEMM_REQUIRE CCACHE_DIR CCACHE_UMASK; do
            eval "[ -z \"\${$name:-}\" ] || set -- \"\$@\" \"$name=\$$name\""
        done
        system=$1 user=$2 command=$3
        shift 3
        exec env -i "$@" chroot "$system" runuser -u "$user" -- \
            sh -c "cd /project/darknet-gemm && HOME=\$(getent passwd $user | cut -d : -f 6) && export HOME && $command"
        ' inside "$folder/$1" "$2" "$3" </dev/null
}
