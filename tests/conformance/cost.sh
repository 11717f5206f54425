#!/usr/bin/env bash
# What kscc adds to a plain call: hyperfine over a call that does next to nothing and over a compilation of about two seconds, with nvcc
# and with kscc, in alternating rounds so that other load hits both.  Prints a table.  A ratio of 1.005 shows on an idle machine only.
#
#   cost.sh KSCC [ROUNDS]
set -eu
KSCC=$(realpath "$1") rounds=${2:-20}
NVCC=${REAL_NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
unset ${!KSCC_@} NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
cd "$T"
echo 'int x;' >c.c
cat >slow.cu <<'F'
template <int N> struct U { static __device__ float f(float x, const float *p) { return U<N - 1>::f(sinf(x * p[N]) + cosf(x), p); } };
template <> struct U<0> { static __device__ float f(float x, const float *) { return x; } };
__global__ void k(float *p) { p[0] = U<20>::f(p[1], p); }
F
# round NAME RUNS ARGUMENTS: appends each run's seconds to NAME.nvcc and NAME.kscc
round() {
    local name=$1 runs=$2; shift 2
    hyperfine -N -r "$runs" --export-json j.json "$NVCC $*" "$KSCC $*" >/dev/null 2>&1
    python3 - "$name" <<'P'
import json, sys
for result, who in zip(json.load(open("j.json"))["results"], ("nvcc", "kscc")):
    with open(f"{sys.argv[1]}.{who}", "a") as f:
        f.writelines(f"{t}\n" for t in result["times"])
P
}
for _ in $(seq "$rounds"); do
    round version 20 --version
    round dryrun 20 -dryrun -c c.c
    round compile 1 -arch=sm_90 -c slow.cu -o slow.o
done
echo "# date $(date -u +%F), $(uname -m), $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg), nvcc $("$NVCC" --version | sed -n 's/.*, V//p'), $(hyperfine --version)"
echo "# command: tests/conformance/cost.sh KSCC $rounds; rounds alternate between the two; medians over all runs"
python3 - <<'P'
from statistics import median
print("call\truns\tnvcc_ms\tkscc_ms\tadded_ms\tratio\tnvcc_least_ms\tkscc_least_ms")
for name in ("version", "dryrun", "compile"):
    n, k = ([1e3 * float(x) for x in open(f"{name}.{w}")] for w in ("nvcc", "kscc"))
    print(f"{name}\t{len(n)}\t{median(n):.2f}\t{median(k):.2f}\t{median(k) - median(n):.2f}\t{median(k) / median(n):.4f}\t{min(n):.2f}\t{min(k):.2f}")
P
