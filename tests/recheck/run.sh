#!/usr/bin/env bash
# Links each object of OBJDIR that belongs to an example (NAME.o) with its re-check program and runs it.
#
#   tests/recheck/run.sh OBJDIR [small|large] [NAME...]
#
# Environment: NVCC (default: nvcc), RECHECK_LIBDIR: a folder whose libcudart.so.13 is used, for the emulated device;
# RECHECK_PRELOAD: a library loaded before it; RECHECK_KEEP: a folder for the programs' own objects, compiled when they are not there.
# Prints one line a program; closing line: N passed, N failed.  Exit status 1 when one failed or none was found.
set -u
here=$(cd "$(dirname "$0")" && pwd)
objdir=${1:?usage: run.sh OBJDIR [small|large] [NAME...]}
size=${2:-small}
shift $(($# < 2 ? $# : 2))
nvcc=${NVCC:-nvcc}
scratch=$(mktemp -d)
keep=${RECHECK_KEEP:-$scratch}
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

run() { # run NAME
    local program=$scratch/recheck_$1 own=$keep/recheck_$1.o
    if [ ! -e "$own" ] && ! output=$("$nvcc" -O2 -c "$here/recheck_$1.cpp" -o "$own" 2>&1); then
        printf '%s\nWRONG %s (its re-check program does not compile)\n' "$output" "$1"
        return 1
    fi
    if ! output=$("$nvcc" -cudart shared "$own" "$objdir/$1.o" -o "$program" 2>&1); then
        printf '%s\nWRONG %s (does not link)\n' "$output" "$1"
        return 1
    fi
    timeout "${RECHECK_TIMEOUT_S:-600}" env LD_LIBRARY_PATH="${RECHECK_LIBDIR:+$RECHECK_LIBDIR:}${LD_LIBRARY_PATH:-}" LD_PRELOAD="${RECHECK_PRELOAD:-}" "$program" "$size"
    local status=$?
    case $status in
    0) return 0 ;;
    1) ;;
    124) echo "WRONG $1 (did not end in time)" ;;
    *) echo "WRONG $1 (exit status $status)" ;;
    esac
    return 1
}

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for program in "$here"/recheck_*.cpp; do
        name=$(basename "$program" .cpp)
        name=${name#recheck_}
        if [ -e "$objdir/$name.o" ]; then names+=("$name"); fi
    done
fi
for name in ${names[@]+"${names[@]}"}; do
    if run "$name"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
