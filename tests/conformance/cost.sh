#!/usr/bin/env bash
# What kscc adds to a plain call: hyperfine over two calls that do next to nothing and over a compilation of about two seconds, with nvcc
# and with kscc, in rounds that take turns at who comes first, so that other load hits both.  Prints a table; status 1 when more is
# added than promised: 5 ms to a call, half a percent to the compilation.  That shows on an idle machine only; processor time (user
# and system) does on any.
#
# The compilation is run in blocks of four, nvcc kscc kscc nvcc or the other way round, on one processor: a machine's clock moves by more
# than half a percent from minute to minute, and what moves evenly during a block cancels.  The ratio is the Hodges-Lehmann estimate over the
# blocks with its 95 % interval (Wilcoxon's signed ranks), which takes two thirds of the runs that a median needs for the same width.
#
# Where that interval holds both 1 and what is promised, wall time has not decided, and the table says so.  The row compile_parts does:
# kscc ends by becoming nvcc with the same words and environment (strace and conformance show it), so what it adds to a compilation is
# what it adds to --version.
#
#   cost.sh [-o TABLE] KSCC [ROUNDS]        20 rounds: about 8 minutes; 80 rounds, where 20 decide nothing: half an hour
set -eu
here=$(cd "$(dirname "$0")" && pwd) table=
while getopts o: o; do case $o in o) table=$(realpath "$OPTARG") ;; *) exit 2 ;; esac; done
shift $((OPTIND - 1))
KSCC=$(realpath "$1") rounds=${2:-20}
NVCC=${REAL_NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
unset ${!KSCC_@} NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS
command -v hyperfine >/dev/null || { echo "cost.sh: no hyperfine here (Debian: apt-get install hyperfine)" >&2; exit 77; }
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
cd "$T"
echo 'int x;' >c.c
cat >slow.cu <<'F'
template <int N> struct U { static __device__ float f(float x, const float *p) { return U<N - 1>::f(sinf(x * p[N]) + cosf(x), p); } };
template <> struct U<0> { static __device__ float f(float x, const float *) { return x; } };
__global__ void k(float *p) { p[0] = U<20>::f(p[1], p); }
F
# round NUMBER NAME RUNS ARGUMENTS: appends a line "wall processor" of each run to NAME.nvcc and NAME.kscc; of a block, which takes RUNS of
# "block", two each
round() {
    local number=$1 name=$2 runs=$3 who; shift 3
    local -a order=(nvcc kscc) commands=() pin=()
    [ $((number % 2)) = 1 ] || order=(kscc nvcc)
    if [ "$runs" = block ]; then
        order+=("${order[1]}" "${order[0]}") runs=1
        ! command -v taskset >/dev/null || pin=(taskset -c $(($(nproc) - 1)))
    fi
    for who in "${order[@]}"; do
        if [ "$who" = nvcc ]; then commands+=("$NVCC $*"); else commands+=("$KSCC $*"); fi
    done
    "${pin[@]}" hyperfine -N -r "$runs" --export-json j.json "${commands[@]}" >/dev/null 2>&1
    python3 - "$name" "${order[@]}" <<'P'
import json, sys
for result, who in zip(json.load(open("j.json"))["results"], sys.argv[2:]):
    with open(f"{sys.argv[1]}.{who}", "a") as f: # the tool keeps processor times as means over the runs
        f.writelines(f"{t} {result['user'] + result['system']}\n" for t in result["times"])
P
}
began=$(cut -d' ' -f1-3 /proc/loadavg)
for i in $(seq "$rounds"); do
    round "$i" version 20 --version
    round "$i" dryrun 20 -dryrun -c c.c
    for j in 1 2 3; do round $((i + j)) compile block -arch=sm_90 -c slow.cu -o slow.o; done
done
cat >summary.py <<'P'
from math import comb, exp, log, sqrt
from statistics import median
import sys
def interval(values):
    """the 95 % interval of the median: the order statistics between which it lies whatever the distribution"""
    n, low = len(values), 0
    while low + 1 < n // 2 and 2 * sum(comb(n, i) for i in range(low + 2)) <= 0.05 * 2 ** n:
        low += 1
    return sorted(values)[low], sorted(values)[n - 1 - low]
def estimate(values):
    """Hodges and Lehmann's middle of values that lie symmetrically, with its 95 % interval after Wilcoxon"""
    n = len(values)
    means = sorted((values[i] + values[j]) / 2 for i in range(n) for j in range(i + 1))
    low = max(0, int(n * (n + 1) / 4 - 1.96 * sqrt(n * (n + 1) * (2 * n + 1) / 24)))
    return median(means), (means[low], means[-1 - low])
print("call\truns\tnvcc_ms\tkscc_ms\tadded_ms\tratio\tratio_low\tratio_high\tnvcc_least_ms\tkscc_least_ms\tnvcc_cpu_ms\tadded_cpu_ms\tpromise\tholds")
kept = True
def row(name, runs, n, k, ratio, low, high, least, cpu, promise, holds):
    global kept
    kept &= holds != "no"
    print(f"{name}\t{runs}\t{n:.2f}\t{k:.2f}\t{k - n:.2f}\t{ratio:.4f}\t{low:.4f}\t{high:.4f}\t{least[0]:.2f}\t{least[1]:.2f}\t{cpu[0]:.2f}\t{cpu[1]:.2f}\t{promise}\t{holds}")
added = {}
for name in ("version", "dryrun", "compile"):
    n, k = ([[1e3 * float(x) for x in line.split()] for line in open(f"{name}.{w}")] for w in ("nvcc", "kscc"))
    (nw, nc), (kw, kc) = ([median(column) for column in zip(*rows)] for rows in (n, k))
    if name == "compile":
        blocks = [log((k[i][0] + k[i + 1][0]) / (n[i][0] + n[i + 1][0])) for i in range(0, len(n), 2)]
        ratio, (low, high) = estimate(blocks)
        ratio, low, high = exp(ratio), exp(low), exp(high)
    else:
        pairs = [b[0] / a[0] for a, b in zip(n, k)]
        ratio, (low, high) = median(pairs), interval(pairs)
    differences = [b[0] - a[0] for a, b in zip(n, k)]
    added[name] = [median(differences), *interval(differences)]
    if name == "compile":
        holds = "yes" if high <= 1.005 else "no" if low > 1.005 else "undecided"
    else:
        holds = "yes" if kw - nw <= 5 else "no"
    row(name, len(n), nw, kw, ratio, low, high, [min(r[0] for r in rows) for rows in (n, k)], (nc, kc - nc), "ratio<=1.005" if name == "compile" else "added_ms<=5", holds)
parts = [1 + a / nw for a in added["version"]]
row("compile_parts", len(n), nw, nw + added["version"][0], *parts, (nw, nw), (nc, 0), "ratio<=1.005", "yes" if parts[2] <= 1.005 else "no")
sys.exit(not kept)
P
status=0
python3 summary.py >rows || status=1
{
    echo "# date $(date -u +%F), $(uname -m), $(nproc) cores, load before $began, after $(cut -d' ' -f1-3 /proc/loadavg), nvcc $("$NVCC" --version | sed -n 's/.*, V//p'), $(hyperfine --version), kscc at $(git -C "$here" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)"
    echo "# command: tests/conformance/cost.sh KSCC $rounds; rounds take turns at who comes first; medians over all runs, ratio over pairs (compile: blocks of four) with its 95 % interval; cpu is user and system time"
    cat rows
} | if [ -n "$table" ]; then tee "$table"; else cat; fi
exit $status
