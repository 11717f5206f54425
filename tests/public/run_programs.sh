#!/bin/bash
# usage: run_programs.sh SCRATCH [PATTERN]
# Builds public programs with `nvcc -cudart shared`, runs them under `kscc run` on the emulated device and looks for the verdict of
# their own checks.  programs.tsv says which, how they are built, what is made smaller (sed over a copy of the sources) and how they are called.
# Sources are fetched into SCRATCH/src (or lie there), copies are built in SCRATCH/bin.  Prints one line a program, tab-separated: id, verdict,
# reason.  Verdicts: right; wrong (its check failed, or it ended without the line that says it passed); refused (the
# emulated device does not have something, named in the reason); fault (the emulated device reports one); time (more than LIMIT
# seconds of processor time); build.
# PATTERN: an extended regular expression over ids.  Environment: KSCC (build/bin/kscc), NVCC (nvcc), LIMIT (60), KEEP=1 keeps what was built before.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mkdir -p "$1" && cd "$1" && pwd)
pattern=${2:-.}
kscc=${KSCC:-$here/../../build/bin/kscc}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
toolkit=$(dirname "$(dirname "$nvcc")")
limit=${LIMIT:-60}
mkdir -p "$scratch/src" "$scratch/bin" "$scratch/log"

fetch() { # fetch NAME URL COMMIT
    [ -d "$scratch/src/$1" ] && return
    git init -q "$scratch/src/$1" && git -C "$scratch/src/$1" fetch -q --depth 1 "$2" "$3" && git -C "$scratch/src/$1" checkout -q FETCH_HEAD
}

# build ID DIR WORDS REDUCE: the program becomes SCRATCH/bin/ID/prog.
build() {
    local to=$scratch/bin/$1 flags=(-cudart shared -w -lineinfo -gencode arch=compute_90,code=compute_90)
    [ "${KEEP:-}" = 1 ] && [ -x "$to/prog" ] && return 0
    rm -rf "$to" && mkdir -p "$(dirname "$to")" && cp -r "$scratch/src/$2" "$to" || return 1
    if [ "$4" != - ]; then
        find "$to" -type f \( -name '*.cu' -o -name '*.cpp' -o -name '*.c' -o -name '*.h' -o -name '*.cuh' -o -name '*.hpp' \) -exec sed -i -E "$4" {} +
    fi
    (
        cd "$to" || exit 1
        if [[ $3 == make* ]]; then
            # shellcheck disable=SC2086
            make CC="$nvcc -cudart shared -w -lineinfo" ARCH=compute_90 program=prog ${3#make}
        else
            # shellcheck disable=SC2086
            line="$nvcc -O2 -std=c++17 --extended-lambda ${flags[*]} -I. -I$scratch/src/cuda-samples/Common -L$toolkit/lib64 -L$toolkit/lib64/stubs -o prog"
            words=${3//NVCC_LINE/$line}
            eval "${words//NVCC /$nvcc }"
        fi
    ) >"$scratch/log/${1//\//.}.build" 2>&1
    [ -x "$to/prog" ]
}

reason() { # reason LOG
    grep -a -m1 'kscc emulated device' "$1" | sed 's/^.*kscc emulated device: //; s/ \[kscc-[a-z-]*\]$//; s/, source line .*//' ||
        grep -aE -m1 -i 'fail|error|mismatch|wrong' "$1" || tail -n 1 "$1"
}

run() { # run ID ARGS RIGHT
    local log=$scratch/log/${1//\//.}.run status verdict why=-
    cd "$scratch/bin/$1" || return
    # shellcheck disable=SC2086
    (ulimit -t "$limit"; eval exec timeout 1200 "$kscc" run --kscc-device=emulated:sm_90a -- ./prog $2) >"$log" 2>&1 </dev/null
    status=$?
    if [ $status = 0 ] && { [[ $3 == *status ]] || grep -aqE "$3" "$log"; } &&
        ! grep -aqE '(^|[^A-Za-z])(FAIL|FAILED|Failed|FAILURE)([^A-Za-z]|$)' "$log"; then
        verdict=right
    elif [ $status = 137 ] || [ $status = 152 ] || [ $status = 124 ]; then
        verdict=time
        why="more than $limit s of processor time"
    elif grep -aqE 'kscc emulated device: .*(emulate|not supported|does not have)|kscc emulated device: decode|operation not supported' "$log"; then
        verdict=refused
        why=$(reason "$log")
    elif grep -aq 'kscc emulated device' "$log"; then
        verdict=fault
        why=$(reason "$log")
    else
        verdict=wrong
        why="status $status: $(reason "$log")"
    fi
    printf '%s\t%s\t%s\n' "$1" "$verdict" "$(echo "$why" | tr '\t\r' '  ' | cut -c1-180)"
}

fetch llm.c https://github.com/karpathy/llm.c f1e2ace651495b74ae22d45d1723443fd00ecd3a
fetch cuda-samples https://github.com/NVIDIA/cuda-samples c94ff366aed18c797b8a85dfaac7817b0228b420
fetch HeCBench https://github.com/zjin-lcf/HeCBench f27000a5188f8ac79bd43fc95a1b3f890c18823d
while IFS=$'\t' read -r id dir words reduce args right; do
    [[ $id == \#* || -z $id || ! $id =~ $pattern ]] && continue
    [ "$words" = excluded ] && continue
    if build "$id" "$dir" "$words" "$reduce"; then
        [ "${BUILD_ONLY:-}" = 1 ] || run "$id" "${args#-none}" "$right"
    else
        printf '%s\tbuild\t%s\n' "$id" "$(grep -m1 -iE 'error|undefined|fatal|No rule' "$scratch/log/${id//\//.}.build" | cut -c1-180)"
    fi
done <"$here/programs.tsv"
