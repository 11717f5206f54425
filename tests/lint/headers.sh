#!/usr/bin/env bash
# Every header of ours compiles alone.  Usage: headers.sh [CUDA_ROOT].  Closing line: N passed, N failed.
set -u
cd "$(dirname "$0")/../.."
passed=0 failed=0
while read -r header; do
    if output=$("${CC:-cc}" -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -I. -isystem "${1:-/usr/local/cuda}/include" -fsyntax-only -x c "$header" 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s\n%s\n' "$header" "$output"
    fi
done < <(git ls-files 'base/*.h' 'analyzer/*.h' 'questions/*.h' 'harness/*.h' 'rewriter/*.h' 'driver/*.h' | grep -v 'analyzer/shim/\|analyzer/clang_internal.h')
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
