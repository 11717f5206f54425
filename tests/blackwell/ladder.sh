#!/usr/bin/env bash
# What the README says of the Blackwell kernel's ladder follows from what is committed of it: the trace of kernels/flash_attention/trace/ladder.sh and
# docs/results/fa_blackwell_ladder.tsv.  Every text that was judged is what ladder.py makes of the kernel in this tree, so whoever changes the kernel
# runs the ladder again; and the edits that made the kernel as it ships of the plain one are judged once more here (modelled, as then).
#
#   ladder.sh KSCC      Closing line: N passed, N failed.
set -u
kscc=$(realpath "$1")
cd "$(dirname "$0")/../.." || exit 2
here=kernels/flash_attention
. tests/checks.sh

python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' $here/trace/ladder_emulated.tar.xz "$work"
check "the trace unpacks" $?
set -- "$work"/ladder/store/sittings/*
"$kscc" trace show "$1" >"$work/show" && "$kscc" trace stats --json "$1" >"$work/stats"
check "kscc trace reads it" $?
python3 - "$1" "$work" <<'P'
import hashlib, json, subprocess, sys
sitting, work = sys.argv[1:]
ladder = ["python3", "kernels/flash_attention/trace/ladder.py"]
made = lambda version: subprocess.run(ladder + ["unit", version], check=True, capture_output=True).stdout
digest = lambda text: hashlib.sha256(text).hexdigest()
listed = [l.split("\t") for l in subprocess.run(ladder + ["list"], check=True, capture_output=True, text=True).stdout.splitlines()]
events = [json.loads(l) for l in open(sitting + "/trace.jsonl")]
device = events[0]["device"]
assert device["kind"] == "emulated" and device["arch"] == "sm_100a" and device["modelled"], device
assert events[0]["source"] == digest(made("0")), "the trace began with another text than ladder.py makes; run trace/ladder.sh again"
proposals = [e for e in events if e["ev"] == "proposal"]
verdicts = [e for e in events if e["ev"] == "verdict" and e["phase"] == "trial"]
assert len(listed) == len(proposals) == len(verdicts) == json.load(open(work + "/stats"))["trials"] >= 12
table = [l.rstrip("\n").split("\t") for l in open("docs/results/fa_blackwell_ladder.tsv") if not l.startswith("#")]
geomeans = {r[0]: r[2:4] for r in table[1:]}
assert all(r[-1] == "18 of 18" for r in table[1:] if r[0] != listed[-1][0]), "a version is wrong"
readme = open("kernels/flash_attention/README.md").read()
plain = "| 0 | the plain kernel | | | | %s | |" % geomeans["0"][0]
assert plain in readme, plain
accepted = []
for (version, layer, predicted, name, why), p, e in zip(listed, proposals, verdicts):
    v = e["verdict"]
    assert p["candidate"] == e["candidate"] == digest(made(version)), version
    assert p["hypothesis"] == why and p["layer"] == layer and p["predicted"] == float(predicted) and p["diff"], version
    gates = {n: g["state"] for n, g in v["gates"].items()}
    if v["outcome"] == "rejected":
        result = "refused by " + next(n for n, s in gates.items() if s == "fail")
    else:
        assert all(gates[n] == "pass" for n in ("numerics", "safety", "resources")), gates
        result = "%.3fx%s" % (v["speedup"], "" if v["outcome"] == "accepted" else ", no gain")
        accepted += [e] if v["outcome"] == "accepted" else []
    row = "| %s | %s | %s | %s | %s | %s |" % (version, name, layer, predicted, result, " | ".join(geomeans[version]))
    assert row in readme, row
shipped = [e for e, l in zip(verdicts, listed) if "+" not in l[0]][-1]
assert shipped in accepted
assert "refused by safety" in result, "the last trial has a planted fault"
replay = json.load(open(work + "/ladder/replay.json"))
assert replay["device"]["kind"] == "emulated" and replay["accepted"] == replay["hold"] == len(accepted), replay
assert [(e["candidate"], e["holds"], e["verdict"]["speedup"]) for e in replay["edits"]] == [(e["candidate"], True, e["verdict"]["speedup"]) for e in accepted]
with open(work + "/trace.jsonl", "w") as f: # for the replay below: nothing but the kernel as it ships counts as accepted
    f.writelines(json.dumps(e) + "\n" for e in events if e["ev"] != "verdict" or e is shipped)
open(work + "/flash.cu", "wb").write(made("0"))
json.dump(shipped, open(work + "/shipped.json", "w"))
P
check "the trace is of this kernel, and the README says what it and the table say" $?
cd "$work" && "$kscc" trace replay --json trace.jsonl flash.cu -O3 -std=c++17 -Xcompiler -fno-inline -gencode arch=compute_100a,code=sm_100a \
    --kscc-device=emulated:sm_100a --kscc-dir="$work/s" >replay.json 2>replay.err
status=$?
[ $status = 0 ] || cat replay.err
check "the shipped kernel's edits, replayed" $status
python3 -c 'import json
r, e = json.load(open("replay.json")), json.load(open("shipped.json"))
assert r["accepted"] == r["hold"] == 1 and r["edits"][0]["verdict"]["speedup"] == e["verdict"]["speedup"], r'
check "give the gain in the trace" $?
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
