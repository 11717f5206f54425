#!/usr/bin/env bash
# What the Hopper attention kernel's README says of runs on an H200 follows from what is committed of them: the table from the rounds, the
# README's means from the table, the steps taken through kscc try from their trace.
#
#   evidence.sh KSCC      Closing line: N passed, N failed.
set -u
kscc=$(realpath "$1")
cd "$(dirname "$0")/../.." || exit 2
here=kernels/flash_attention
. tests/checks.sh

python3 $here/bench.py --from-raw --raw docs/results/fa_hopper_v12_rounds.json.gz --baseline $here/baselines_fa3_h200.tsv --out "$work/t.tsv" >"$work/report"
check "bench.py takes the rounds" $?
cmp "$work/t.tsv" docs/results/fa_hopper_h200.tsv
check "the rounds give fa_hopper_h200.tsv" $?
for row in all "type bf16" "type fp16"; do
    means=$(sed -n "0,/^$row  *\([0-9]*\)  *[0-9.]*  *\([0-9.]*\)  *\([0-9.]*\)  *\([0-9.]*\)$/s//| \1 | \2 | \3 | \4 |/p" "$work/report" | head -n 1)
    [ -n "$means" ] && grep -qF "$means" $here/README.md
    check "the README has $row: $means" $?
done

torn=$(awk '/^\|/ { if (!inside++ && (getline below) > 0 && below !~ /^\| *---/) print FNR - 1 } !/^\|/ { inside = 0 }' $here/README.md | tr '\n' ' ')
[ -z "$torn" ]
check "every table of the README has a head (lines without: $torn)" $?

python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' $here/trace/sitting_h200.tar.xz "$work/trace"
check "the trace unpacks" $?
set -- "$work"/trace/s/store/sittings/*
"$kscc" trace show "$1" >"$work/show" && "$kscc" trace stats --json "$1" >"$work/stats"
check "kscc trace reads it" $?
python3 - "$1" "$work" <<'P'
import glob, hashlib, json, sys
sitting, work = sys.argv[1:]
events = [json.loads(l) for l in open(sitting + "/trace.jsonl")]
digest = lambda path: hashlib.sha256(open(path, "rb").read()).hexdigest()
assert events[0]["ev"] == "start" and events[0]["source"] == digest(sitting + "/original/flash.cu")
device = events[0]["device"]
assert device["kind"] == "cuda" and device["name"] == "NVIDIA H200" and not device["modelled"], device
proposals = {e["candidate"]: e for e in events if e["ev"] == "proposal"}
verdicts = [e for e in events if e["ev"] == "verdict"]
stats = json.load(open(work + "/stats"))
assert len(verdicts) == len(proposals) == stats["trials"] == 5
assert stats["confirmed"] == 1 and stats["stopped_by"] == "operator", stats
accepted = [e for e in verdicts if e["verdict"]["outcome"] == "accepted"]
for e in verdicts:
    p = proposals[e["candidate"]]
    assert p["hypothesis"] and p["layer"] and p["predicted"] > 1 and p["diff"], p
for e in accepted:
    gates = e["verdict"]["gates"]
    assert gates["time"]["details"]["modelled"] is False
    assert all(g["state"] == "pass" for n, g in gates.items() if n != "policy"), gates
assert accepted == verdicts[:4] and verdicts[4]["verdict"]["gates"]["numerics"]["state"] == "fail", verdicts[4]
best = max(accepted, key=lambda e: e["verdict"]["speedup"])
[held] = glob.glob(work + "/trace/s/store/objects/*")
certificate = json.load(open(held + "/certificate.json"))
assert best is accepted[2] and digest(held + "/candidate.cu") == best["candidate"]
assert certificate["device"]["name"] == "NVIDIA H200", certificate["device"]
replay = json.load(open(work + "/trace/replay.json"))
assert replay["device"]["name"] == "NVIDIA H200" and replay["accepted"] == replay["hold"] == 4, replay
assert [(e["candidate"], e["holds"]) for e in replay["edits"]] == [(e["candidate"], True) for e in accepted]
readme = open("kernels/flash_attention/README.md").read()
for e, again in zip(accepted, replay["edits"]):
    for v in e["verdict"], again["verdict"]:
        words = "%.2fx [%.2f, %.2f]" % (v["speedup"], v["speedup_lo"], v["speedup_hi"])
        assert words in readme, words
P
check "four of five steps accepted on the H200 and held in a replay, one refused; the README says so" $?
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
