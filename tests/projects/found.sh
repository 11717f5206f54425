#!/usr/bin/env bash
# find_package(kscc) and include(KsccCUDA) out of an installed tree: which variables each setting leaves behind, what a project's own
# choice does to them, that a project without kscc builds the same, and that CUDA goes through kscc where it is to.
#
#   found.sh BUILD [all]      all: and builds it with kscc as launcher, as compiler, and without
#
# Closing line: N passed, N failed.
set -u
build=$(realpath "$1") all=${2:-} here=$(cd "$(dirname "$0")" && pwd)
export LC_ALL=C
unset NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS NVCC_CCBIN CI CUDACXX CXXFLAGS ${!CMAKE_@} ${!KSCC_@}
nvcc=$(sed -n 's/^KSCC_CUDA_ROOT:PATH=//p' "$build/CMakeCache.txt")/bin/nvcc
T=$(mktemp -d "${TMPDIR:-/tmp}/kscc-found.XXXXXX") || exit 2
trap 'rm -rf "$T"' EXIT
passed=0 failed=0
check() { # check NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$T/log" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name"; tail -n 30 "$T/log"; fi
}
cp -r "$here/found" "$T/project"
check "it installs" cmake --install "$build" --prefix "$T/prefix"
kscc=$T/prefix/bin/kscc
# without CUDA: what is set.  C++ once: later folders start from a copy of the first one's findings
configure() { # configure OUT OPTION...
    local out=$T/$1
    shift
    cmake -G Ninja -S "$T/project" -B "$out" -DWITH_CUDA=OFF "$@"
}
says() { # says NAME EXPECTED OPTION...
    local name=$1 expected=$2
    shift 2
    rm -rf "$T/out"
    if [ -d "$T/start" ]; then cp -r "$T/start" "$T/out" && sed -i "s|$T/start|$T/out|" "$T/out/CMakeCache.txt"; fi
    check "$name: it configures" configure out "$@"
    check "$name" grep -qxF "$expected" "$T/out/said"
    [ "$(cat "$T/out/said")" = "$expected" ] || cat "$T/out/said"
}
check "a first configuration" configure start -DCMAKE_DISABLE_FIND_PACKAGE_kscc=ON
on='options=$<$<COMPILE_LANGUAGE:CUDA>:-O-agent=trials:3>' off=options=options-NOTFOUND
at=-DCMAKE_PREFIX_PATH=$T/prefix
says "launcher unless told otherwise" "found=1 active=LAUNCHER compiler= launcher=$kscc $on" -UCMAKE_DISABLE_FIND_PACKAGE_kscc "$at"
says "as compiler" "found=1 active=COMPILER compiler=$kscc launcher= $on" -UCMAKE_DISABLE_FIND_PACKAGE_kscc "$at" -DKSCC_CUDA=COMPILER
says "off" "found=1 active=OFF compiler= launcher= $off" -UCMAKE_DISABLE_FIND_PACKAGE_kscc "$at" -DKSCC_CUDA=OFF
says "another compiler stays" "found=1 active=OFF compiler=/some/nvcc launcher= $off" -UCMAKE_DISABLE_FIND_PACKAGE_kscc "$at" -DKSCC_CUDA=COMPILER -DCMAKE_CUDA_COMPILER=/some/nvcc
says "another launcher stays" "found=1 active=OFF compiler= launcher=ccache $off" -UCMAKE_DISABLE_FIND_PACKAGE_kscc "$at" -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache
says "not found: as without it" "found= active= compiler= launcher= $off"
check "a wrong setting is an error" sh -c '! cmake -G Ninja -S "$1" -B "$2" -DWITH_CUDA=OFF "$3" -DKSCC_CUDA=SOMETIMES 2>&1 | tee "$2.log" | grep -q "Generating done" && grep -q "expected COMPILER, LAUNCHER or OFF" "$2.log"' sh "$T/project" "$T/wrong" "$at"
# found through PATH alone, as after an installation into a folder of one's own
PATH=$T/prefix/bin:$PATH says "by PATH" "found=1 active=LAUNCHER compiler= launcher=$kscc $on" -UCMAKE_DISABLE_FIND_PACKAGE_kscc

# ---- builds ------------------------------------------------------------------------------------------------------------
calls() { "$kscc" stats --kscc-dir="$T/$1.kscc" --json | python3 -c 'import json,sys; print(json.load(sys.stdin).get("calls", 0))'; }
object() { find "$T/$1" -name 'scale.cu.o'; }
builds() { # builds OUT OPTION...
    local out=$1
    shift
    KSCC_DIR=$T/$out.kscc cmake -G Ninja -S "$T/project" -B "$T/$out" -DCMAKE_CUDA_ARCHITECTURES=80 "$@" && mkdir -p "$T/$out.kscc" && KSCC_DIR=$T/$out.kscc ninja -v -C "$T/$out" &&
        [ -s "$(object "$out")" ]
}
if [ -n "$all" ]; then
    export PATH=${nvcc%/*}:$PATH
    check "it builds with kscc as launcher" builds launched "$at"
    check "the program runs in a rule of the project" grep -qx 'kscc [0-9.]*' "$T/launched/remarks"
    check "the kernels were asked to be optimised" grep -qE -- '-O-agent=trials:3' "$T/launched/build.ninja"
    check "kscc compiled" test "$(calls launched)" -ge 1
    check "it builds with kscc as compiler" builds compiled "$at" -DKSCC_CUDA=COMPILER
    check "kscc compiled, as compiler" test "$(calls compiled)" -ge 1
    check "it builds without kscc" builds without -DCMAKE_DISABLE_FIND_PACKAGE_kscc=ON
    check "without kscc there is no switch of ours" sh -c '! grep -E "O-agent|kscc " "$1"' sh "$T/without/build.ninja"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
