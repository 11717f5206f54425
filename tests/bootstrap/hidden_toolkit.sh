#!/usr/bin/env bash
# With the installed CUDA toolkit hidden, bootstrap brings one, and kscc builds with it what runs on the emulated device.
#
#   hidden_toolkit.sh BUILDDIR     Closing line: N passed, N failed.
set -u
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
check() { # check NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $name"
        cat "$work/log"
    fi
}

root=$(KSCC_HIDE_NVCC=1 KSCC_BUILD_DIR=$build/hidden ./bootstrap toolkit) || root=
echo "toolkit: $root"
check "a toolkit came into the build folder" test -x "$root/bin/nvcc" -a "${root#"$build"}" != "$root"
again=$(KSCC_HIDE_NVCC=1 KSCC_BUILD_DIR=$build/hidden ./bootstrap toolkit 2>&1)
check "a second call finds it and brings nothing" test "$again" = "$root"
hidden_path=/usr/bin:/bin
check "kscc compiles with it" env PATH=$hidden_path "$build/bin/kscc" --kscc-nvcc="$root/bin/nvcc" \
    -gencode arch=compute_90a,code=[compute_90a,sm_90a] -c kernels/examples/transpose.cu -o "$work/transpose.o"
check "the object links and runs right" env PATH=$hidden_path NVCC="$root/bin/nvcc" RECHECK_LIBDIR="$build/lib/emulated" \
    tests/recheck/run.sh "$work" small transpose
check "the analyzer parses with its headers" env PATH=$hidden_path "$build/bin/kscc" analyze --kscc-nvcc="$root/bin/nvcc" kernels/examples/transpose.cu

# Links to an installed toolkit's headers in /usr/local/include would lend it what the wheels lack.
headers_alone() { unshare -rm sh -c 'mount -t tmpfs none /usr/local/include && PATH=$0 && exec "$@"' "$hidden_path" "$build/bin/kscc" "$@"; }
doctor_is_content() { headers_alone doctor --kscc-nvcc="$root/bin/nvcc" | tee /dev/stderr | grep -q '^ok .*parses a kernel'; }
same_remarks() { # same_remarks EXAMPLE: with these headers as with the installed toolkit's
    diff <("$build/bin/kscc" analyze "kernels/examples/$1.cu" 2>&1) <(headers_alone analyze --kscc-nvcc="$root/bin/nvcc" "kernels/examples/$1.cu" 2>&1)
}
if unshare -rm true 2>/dev/null; then
    check "doctor finds the analyzer right with these headers alone" doctor_is_content
    for example in attention matmul reduction; do check "the same remarks on $example with them" same_remarks $example; done
else
    echo "not looked at: the headers alone (no user namespace here)"
fi
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
