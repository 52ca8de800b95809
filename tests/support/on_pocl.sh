#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a test program on PoCL alone, whatever other devices there are. Without PoCL the program is skipped.
#
#   tests/support/on_pocl.sh PROGRAM ARGUMENT...
. tests/support/lib.sh

if use_pocl; then
    "$@"
else
    skip "$(basename "$1")" "$no_pocl"
    finish
fi
