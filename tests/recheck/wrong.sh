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

arch=${RECHECK_ARCH:-90a} code=
[ -n "${RECHECK_LIBDIR:-}" ] || code=sm_$arch, # the emulated device runs PTX
compile() { # compile SOURCE OBJECT
    "${NVCC:-nvcc}" -std=c++14 -c -w -gencode "arch=compute_$arch,code=[${code}compute_$arch]" "$1" -o "$2"
}
wanted() { # wanted NAME [NAMES...]: no names mean all
    [ $# -eq 1 ] || [[ " ${*:2} " == *" $1 "* ]]
}

verdict_of() { # verdict_of NAME: what its re-check program says about $scratch/NAME.o, with the whole output in $output
    output=$(RECHECK_KEEP=$scratch "$here/run.sh" "$scratch" small "$1")
    printf '%s\n' "$output" | grep -qE "^ok $1 \\(" && echo ok && return
    printf '%s\n' "$output" | grep -qE "^WRONG $1 \\([a-z0-9]+, " && echo WRONG
}

expect() { # expect VERDICT NAME SOURCE WHAT
    if ! compile "$3" "$scratch/$2.o"; then
        verdict='not compiled'
    else
        verdict=$(verdict_of "$2")
    fi
    if [ "$verdict" = "$1" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $2: $4: expected $1, got '$verdict'"
        "$here/run.sh" "$scratch" small "$2" | head -10
    fi
}

for source in "$examples"/*.cu; do
    name=$(basename "$source" .cu)
    if [ -e "$here/recheck_$name.cpp" ] && wanted "$name" "$@"; then expect ok "$name" "$source" untouched; fi
done
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
    else
        expect WRONG "$name" "$scratch/$name.cu" "$what"
    fi
done < "$here/wrong.txt"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
