#!/usr/bin/env bash
# Who may include whom (docs/ARCHITECTURE.md), which third-party header may occur where, and which functions are banned.
# Prints one line per offence; closing line: N passed, N failed.
set -u
cd "$(dirname "$0")/../.."
passed=0 failed=0

check() { # check NAME OFFENCES
    if [ -z "$2" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s\n%s\n' "$1" "$2"
    fi
}

sources() { git ls-files "$@" | grep -E '\.(c|h|def)$'; }

# may_include FOLDER ALLOWED...: every quoted include of FOLDER starts with one of ALLOWED.
may_include() {
    local folder=$1 allowed
    shift
    allowed=$(IFS='|'; echo "$*")
    check "$folder includes only: $*" "$(sources "$folder" | xargs -r grep -nE '^#include "' | grep -vE "#include \"($allowed)/" || true)"
}
may_include base base
may_include analyzer base analyzer
may_include questions base questions
may_include harness base harness
may_include rewriter base rewriter analyzer
may_include driver base analyzer questions harness rewriter driver
check "kernels includes nothing of ours" \
    "$(git ls-files kernels | grep -E '\.(cu|cuh|h)$' | xargs -r grep -nE '^#include "(base|analyzer|questions|harness|rewriter|driver)/' || true)"
check "the rewriter takes from the analyzer facts only" \
    "$(sources rewriter | xargs -r grep -nE '^#include "analyzer/' | grep -v '"analyzer/facts.h"' || true)"

# One .c per third-party header.  harness/emulated_rt/ is the driver's interface: what defines its functions includes its header.
for header in 'cjson/' 'pcre2.h' 'curl/' 'sqlite3.h' 'sodium.h' 'ffi.h' 'seccomp.h' 'capstone/' 'zstd.h' 'lz4.h' 'cuda.h' 'nvml.h' 'cupti'; do
    places=$(git ls-files '*.c' '*.h' | grep -v '^harness/emulated_rt/driver' | xargs -r grep -lE "^ *# *include <$header" | sort -u)
    [ "$(echo "$places" | grep -c .)" -le 1 ] && places=
    check "<$header occurs in one file" "$places"
done
check "<clang-c/ occurs in analyzer/clang*.c only" "$(git ls-files '*.c' '*.h' | xargs -r grep -lE '^ *# *include <clang-c/' | grep -vE '^analyzer/clang[a-z_]*\.c$' || true)"

check "banned functions" \
    "$(sources base analyzer questions harness rewriter driver | xargs -r grep -nE '\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|alloca|mktemp|tmpnam|system|popen)\(' || true)"
check "reallocation only in base" \
    "$(sources analyzer questions harness rewriter driver | xargs -r grep -nE '\brealloc\(' || true)"
check "libraries do not print" \
    "$(sources base analyzer questions rewriter harness | grep -vE '^harness/(worker|emulated_rt|record_gpu)/|^base/(err|mem)\.c' | xargs -r grep -nE '\b(printf|puts|putchar|perror)\(|fprintf\(std(out|err)' | grep -v '__attribute__' || true)"
check "no unfinished work promised in code" \
    "$(git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.sh' '*.def' | grep -v '^tests/lint/' | xargs -r grep -nE '\b(TODO|FIXME|XXX)\b' || true)"

check "a number stands before no fixed plural (ks_plural_s)" \
    "$(sources analyzer driver harness questions | xargs -r grep -nE '%(z?u|d|lld|llu) (answers|candidates|certificates|contracts|copies|entries|events|hypotheses|kernels|launches|objects|questions|results|searches|tokens|trials|units|verdicts)\b' || true)"

# The style guide's ceiling.
check "C files of at most 600 lines" \
    "$(git ls-files '*.c' '*.h' | xargs -r wc -l | awk '$2 != "total" && $1 > 600')"

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
