#!/usr/bin/env bash
# The re-check programs must call every deliberately wrong version (wrong.txt) WRONG and the untouched examples ok: else they prove nothing.
#
#   tests/recheck/wrong.sh [NAME...]
#
# Needs nvcc and a device, or RECHECK_LIBDIR with the emulated libcudart.so.13.  Closing line: N passed, N failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
examples=$here/../../kernels/examples
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

compile() { # compile SOURCE OBJECT
    "${NVCC:-nvcc}" -c -w -gencode "arch=compute_${RECHECK_ARCH:-90a},code=[sm_${RECHECK_ARCH:-90a},compute_${RECHECK_ARCH:-90a}]" "$1" -o "$2"
}
wanted() { [ $# -eq 1 ] || [[ " ${*:2} " == *" $1 "* ]]; }

while IFS='|' read -r name edit what; do
    case $name in '#'* | '') continue ;; esac
    # A pattern may hold '|' (C's "||"): the last field is what comes after the last one.
    rest=$edit'|'$what
    what=${rest##*|}
    edit=${rest%|*}
    wanted "$name" "$@" || continue
    sed "$edit" "$examples/$name.cu" > "$scratch/$name.cu"
    if cmp -s "$examples/$name.cu" "$scratch/$name.cu"; then
        echo "FAILED $name: the edit '$edit' changes nothing"
        failed=$((failed + 1))
    elif ! compile "$scratch/$name.cu" "$scratch/$name.o"; then
        echo "FAILED $name: '$what' does not compile"
        failed=$((failed + 1))
    else
        output=$("$here/run.sh" "$scratch" small "$name")
        if printf '%s\n' "$output" | grep -q "^WRONG $name ("; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            printf 'FAILED %s: not caught: %s\n%s\n' "$name" "$what" "$output"
        fi
    fi
done < "$here/wrong.txt"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
