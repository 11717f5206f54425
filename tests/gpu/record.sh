#!/usr/bin/env bash
# The recorder on a GPU: what it keeps of launches of all kinds, what it costs, a program of 20 GB, program mode.
#
#   tests/gpu/record.sh [BUILD [CASE...]]     cases: all fault kill short large contract program (default: all of them)
#
# From the environment: NVCC; ARCH (default: this card's); LARGE_GB (20); RUNS of the overhead's (5); OUT: a folder that logs and tables are
# left in.  Prints a line for each case, "N passed, N failed" at last; exit status 1 when one failed, 77 when there is no GPU.  Where `kscc`
# does not start (its libclang may be missing), recordings are made without it: by the variables that it sets.
set -u
here=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
. "$here/own_group.sh" "$0" "$@"
build=$(realpath "${1:-$root/build}")
[ $# -gt 0 ] && shift
cases=${*:-all fault kill short large contract program}
if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L >/dev/null 2>&1; then
    echo "skipped: no GPU (nvidia-smi finds none)"
    exit 77
fi
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || { echo "skipped: no nvcc at '$nvcc'"; exit 77; }
[ -e "$build/lib/record/libkscc-record.so" ] || { echo "skipped: no $build/lib/record/libkscc-record.so (kscc was built without CUPTI's headers)"; exit 77; }
cc=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 | tr -d '.')
[ "$cc" -ge 90 ] && cc=${cc}a
arch=(-gencode "arch=compute_$cc,code=[compute_$cc,sm_$cc]")
. "$root/tests/checks.sh"
kscc=$build/bin/kscc
"$kscc" --kscc-help >/dev/null 2>&1 || kscc=
if [ -z "${KSCC_RECORD_CUPTI:-}" ]; then
    top=$(dirname "$(dirname "$(realpath "$nvcc")")")
    for f in "$top"/lib64/libcupti.so.1[23] "$top"/extras/CUPTI/lib64/libcupti.so.1[23] "$top"/targets/x86_64-linux/lib/libcupti.so.1[23] \
        $(python3 -c 'import nvidia, glob; [print(g) for p in nvidia.__path__ for g in glob.glob(p + "/**/libcupti.so.1[23]", recursive=True)]' 2>/dev/null); do
        [ -e "$f" ] && export KSCC_RECORD_CUPTI=$f && break
    done
fi
echo "# date    $(date -u +%Y-%m-%dT%H:%M:%SZ)"
echo "# device  $(nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm --format=csv,noheader -i 0)"
echo "# nvcc    $("$nvcc" --version | tail -1); CUPTI ${KSCC_RECORD_CUPTI:-by the loader}; $([ -n "$kscc" ] && echo "kscc record" || echo "the library alone: kscc does not start")"
cd "$work" || exit 2
keep() { [ -z "${OUT:-}" ] || cp "$@" "$OUT/" 2>/dev/null; }
"$nvcc" "${arch[@]}" -std=c++17 -O2 -o p "$here/record/record.cu" 2>nvcc.log || { cat nvcc.log; echo "FAILED the program does not compile"; exit 1; }

record() { # record DIR SAMPLE MAX PROGRAM ARGUMENTS: stdout in out, stderr in err; with alone=1 without kscc
    local dir=$1 sample=$2 max=$3
    shift 3
    mkdir -p "$dir"
    if [ -n "$kscc" ] && [ -z "${alone:-}" ]; then
        timeout 500 "$kscc" record --kscc-device=cuda --sample="$sample" --max-size="$max" -o "$dir" -- "$@" >out 2>err
    else
        timeout 500 env CUDA_INJECTION64_PATH="$build/lib/record/libkscc-record.so" KSCC_RECORD="$PWD/$dir" KSCC_RECORD_SAMPLE="$sample" \
            KSCC_RECORD_MAX="$(numfmt --from=iec "$max")" "$@" >out 2>err
    fi
}
judge() { # judge NAME DIR < python that asserts over `lines`, `launches`, `copies`
    cat >judge.body
    { cat "$here/record/read.py"; cat judge.body; } >judge.py
    python3 judge.py "$2" >judge.out 2>&1
    local status=$?
    [ $status = 0 ] || { tail -4 judge.out; tail -5 err; }
    check "$1" $status
    [ $status = 0 ] && echo "ok $1"
}
now() { date +%s.%N; }

for name in $cases; do
    case $name in
    all)
        ./p all >plain || { echo "the program does not run alone"; check "all: the program" 1; continue; }
        record rec 100 4G ./p all
        check "all: the program ends as it does alone ($(cat plain) | $(cat out))" $(($? != 0))
        cmp -s plain out
        check "all: it prints the same" $?
        keep rec/process-*.jsonl err
        judge "all: every launch and copy is there, once" rec <<'P'
# 5 copies of 391 blocks, 1 of 4, 1 of 7, 150 of threads; 2 scales, through, together, clustered; 6 kernels in graphs
assert len(launches) == 5 + 1 + 1 + 150 + 2 + 3 + 6, len(launches)
assert len(copies) == 1 + 3 + 150, len(copies)
P
        judge "all: every kernel has a time" rec <<'P'
assert all(l.get("ns", 0) > 0 for l in launches), [l for l in launches if not l.get("ns", 0) > 0][:2]
P
        judge "all: parameters, pointers in a structure, variables" rec <<'P'
first = launches[0]
assert "copy" in first["kernel"] and first["grid"] == [391, 1, 1] and first["block"] == [256, 1, 1] and first["stream"] == 0, first
assert len(first["params"]) == 1 and len(first["params"][0]["bytes"]) == 48, first["params"]
assert [p["at"] for p in first["params"][0]["points"]] == [0, 16], first["params"]
to, frm = (first["buffers"][p["buffer"]] for p in first["params"][0]["points"])
assert to["bytes"] == frm["bytes"] == 400000, (to, frm)
assert "after" in to and "after" not in frm
assert floats(to["after"])[1] == floats(frm["before"])[1] + 1
names = {b.get("name"): b for b in first["buffers"] if b["kind"] == "variable"}
assert {"calls", "offset"} <= set(names) and "after" in names["calls"] and "after" not in names["offset"], names
P
        judge "all: sampled as said" rec <<'P'
assert "buffers" in launches[0] and all("buffers" not in l for l in launches[1:5]), [("buffers" in l) for l in launches[:6]]
shapes = {(l["kernel"], tuple(l["grid"]), l["shared"]) for l in launches if "buffers" in l}
assert any("scale" in k and s == 1024 for k, g, s in shapes) and any(g == (4, 1, 1) for k, g, s in shapes), shapes
P
        judge "all: pointers in managed memory, memory of a pool" rec <<'P'
t = [l for l in launches if "through" in l["kernel"]][0]
holds = {(t["buffers"][h["in"]]["kind"], h["at"], t["buffers"][h["buffer"]]["bytes"]) for h in t["holds"]}
assert holds == {("managed", 0, 400000), ("managed", 8, 400000)}, t["holds"]
out = [t["buffers"][h["buffer"]] for h in t["holds"] if h["at"] == 8][0]
assert out["after"] == copies[0]["contents"] and t["stream"] > 0
P
        judge "all: pinned memory, cooperative, cluster" rec <<'P'
p = [l for l in launches if l["grid"][0] == 4][0]
assert {b["kind"] for b in p["buffers"]} >= {"pinned", "device", "variable"}, p["buffers"]
assert [b for b in p["buffers"] if b["kind"] == "pinned"][0]["after"]
assert [l for l in launches if "together" in l["kernel"]][0].get("cooperative") is True
assert [l for l in launches if "clustered" in l["kernel"]][0].get("cluster") == [2, 1, 1]
P
        judge "all: graphs are timed, a capture is left alone, and both are said" rec <<'P'
assert sorted(l["grid"][0] for l in launches if l.get("graph")) == [5, 5, 5, 6, 6, 6]
assert len([l for l in launches if l["grid"][0] == 7 and "buffers" not in l]) == 1
assert lines[-1]["ev"] == "end" and sum(lines[-1]["not_covered"].values()) == 4, lines[-1]
P
        judge "all: contents are what their names say" rec <<'P'
import hashlib
assert all(hashlib.sha256(unpack(h)).hexdigest() == h for h in [b["before"] for l in launches for b in l.get("buffers", []) if b["before_kept"]][:40])
P
        ;;
    fault)
        record fault 1 4G ./p fault
        check "fault: the program goes on as alone" $?
        judge "fault: it is named, what came before is there" fault <<'P'
assert len(launches) == 21 and "ILLEGAL_ADDRESS" in [l for l in launches if "bad" in l["kernel"]][0]["fault"], launches[-1]
P
        ;;
    kill)
        record killed 100 4G ./p kill
        judge "kill: what came before is there" killed <<'P'
assert len(launches) == 20 and lines[-1]["ev"] != "end", len(launches)
P
        ;;
    short)
        : >loops
        for i in $(seq "${RUNS:-5}"); do
            b=$(now) && ./p short 10000 >out 2>alone && e=$(now)
            rm -rf short
            alone=1 record short 100 4G ./p short 10000 # what kscc itself takes to start is not the program's time
            f=$(now)
            echo "$(sed -n 's/loop //p' alone) $(sed -n 's/loop //p' err) $b $e $f" >>loops
        done
        keep loops
        python3 - <<'P'
import statistics as s
rows = [[float(x) for x in l.split()] for l in open("loops")]
loop = s.median(r[1] for r in rows) / s.median(r[0] for r in rows)
whole = s.median(r[4] - r[3] for r in rows) / s.median(r[3] - r[2] for r in rows)
print("10,000 short launches, 1 in 100 sampled, medians of %d: alone %.1f ms the loop, %.0f ms the program; recorded %.1f ms and %.0f ms: %.2f x the loop, %.2f x the program"
      % (len(rows), s.median(r[0] for r in rows) * 1e3, s.median(r[3] - r[2] for r in rows) * 1e3, s.median(r[1] for r in rows) * 1e3,
         s.median(r[4] - r[3] for r in rows) * 1e3, loop, whole))
raise SystemExit(whole > 1.5)
P
        check "short: at most 1.5 x the program's own time" $?
        judge "short: 10,001 launches, 101 of them with buffers, all timed" short <<'P'
assert len(launches) == 10001 and sum("buffers" in l for l in launches) == 101 and all(l.get("ns", 0) > 0 for l in launches), (len(launches), sum("buffers" in l for l in launches))
P
        ;;
    large)
        b=$(now)
        record large 100 4G ./p large "${LARGE_GB:-20}"
        check "large: the program runs through" $?
        echo "${LARGE_GB:-20} GB recorded in $(python3 -c "print('%.0f' % ($(now) - $b))") s, $(du -sm large | cut -f1) MB kept; $(tail -1 err)"
        [ "$(cat large/process-*.jsonl large/contents/* | wc -c)" -le $((4 << 30)) ]
        check "large: within its cap" $?
        judge "large: what was left out is said" large <<P
assert len(launches) == ${LARGE_GB:-20} + 1, len(launches)
assert "not_covered" in lines[-1] or "full" in lines[-1], lines[-1]
P
        rm -rf large
        ;;
    contract)
        [ -n "$kscc" ] || { echo "passed over contract: kscc does not start"; continue; }
        "$nvcc" "${arch[@]}" -o transposed "$here/record/transposed.cu" && record trec 100 4G ./transposed 2048 1024
        "$kscc" record --show=trec --check
        check "contract: --show reads the recording" $?
        "$kscc" contract "${arch[@]}" --kscc-workload=trec "$here/record/transposed.cu" >contract 2>err
        grep -q 'kscc: time' contract && grep -q 'rows\*cols' contract
        check "contract: drafted from it" $?
        keep contract
        ;;
    program)
        [ -n "$kscc" ] || { echo "passed over program: kscc does not start"; continue; }
        mkdir -p program && cd program || exit 2
        cp "$here/record/transposed.cu" .
        "$nvcc" "${arch[@]}" -o alone transposed.cu
        timeout 560 "$kscc" -O-agent --kscc-device=cuda --kscc-policy=explore --kscc-budget="${BUDGET:-trials:12,time:180}" \
            --kscc-args='2048 2048 1;2048 2048 7;1000 3000 2' "${arch[@]}" transposed.cu -o transposed >log 2>&1
        check "program: the build ends well" $?
        cat log
        [ -z "${OUT:-}" ] || cp log "$OUT/program.log"
        grep -q 'measured in kernels' log
        check "program: its time was measured on the card" $?
        grep -q 'program: the same output, files and copies to the host with 3 sets of arguments' log && grep -q 'linked transposed again' log
        check "program: verified with all sets, and put in place" $?
        python3 - <<'P'
import glob, json
def find(j, key):
    if isinstance(j, dict):
        return ([j[key]] if key in j else []) + [x for v in j.values() for x in find(v, key)]
    return [x for v in j for x in find(v, key)] if isinstance(j, list) else []
found = [s for f in glob.glob(".kscc/objects/*/certificate.json") for s in find(json.load(open(f)), "streams")]
print("CUPTI over all streams:", json.dumps(found))
raise SystemExit(not (found and all(s["known"] and all(p["outside_ns"] <= 3000 + 0.02 * p["window_ns"] and p["busy_ns"] > 0 for p in s["points"]) for s in found)))
P
        check "program: the confirmation looked at all streams through CUPTI" $?
        for set in "2048 2048 1" "2048 2048 9" "1000 3000 2" "777 1234 3"; do
            # shellcheck disable=SC2086
            [ "$(./alone $set | head -1)" = "$(./transposed $set | head -1)" ]
            check "program: prints the same with '$set'" $?
        done
        echo "alone: $(./alone 2048 2048 1 | tail -1); with candidates: $(./transposed 2048 2048 1 | tail -1)"
        cd ..
        ;;
    *) echo "no case '$name'"; exit 2 ;;
    esac
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
