#!/usr/bin/env python3
"""Turns the certificates and traces of tests/gpu/examples.sh into one TSV with a comment head.

usage: summarise.py OUTDIR EXAMPLE...      writes OUTDIR/examples.tsv and prints it
"""
import collections
import datetime
import glob
import json
import math
import os
import re
import sys


def load_trace(folder):
    events = []
    for path in glob.glob(os.path.join(folder, "**", "trace.jsonl"), recursive=True):
        with open(path, encoding="utf-8") as f:
            for line in f:
                try:
                    events.append(json.loads(line))
                except ValueError:  # a line cut by a kill: the rest stands
                    pass
    return events


def failed_gates(verdict):
    gates = verdict.get("gates", {})
    items = gates.items() if isinstance(gates, dict) else ((g["gate"], g) for g in gates)
    return [name for name, g in items if (g.get("state") if isinstance(g, dict) else g) in ("fail", "failed")]


def row(out, name):
    folder = os.path.join(out, "store", name)
    events = load_trace(folder)
    trials = [e for e in events if e.get("ev") == "verdict" and e.get("phase", "trial") != "confirm"]
    gates = collections.Counter(g for e in trials for g in failed_gates(e.get("verdict", {})))
    certificates = glob.glob(os.path.join(folder, "**", "certificate.json"), recursive=True)
    recheck, emitted = "-", False
    try:
        with open(os.path.join(out, name + ".log"), encoding="utf-8") as f:
            emitted = f"emitted {name}.o" in f.read()
        with open(os.path.join(out, name + ".recheck"), encoding="utf-8") as f:
            text = f.read()
        ok = re.search(r"^ok \w+ \((\w+), (\d+) values compared\)", text, re.M)
        if emitted:  # else the program checked the baseline object
            recheck = f"ok ({ok[1]}, {ok[2]} values)" if ok else "WRONG"
    except OSError:
        pass
    result = {"example": name, "emitted": "no", "speedup": "-", "lo": "-", "hi": "-", "trials": len(trials), "recheck": recheck, "aa": "-", "sm_mhz": "-",
              "gates_failed": ",".join(f"{g}:{n}" for g, n in sorted(gates.items())) or "-"}
    if certificates:
        with open(certificates[0], encoding="utf-8") as f:
            certificate = json.load(f)
        speedup, control = certificate["speedup"], certificate["device"].get("control", {})
        clocks = certificate["confirmation"]["gates"]["time"]["details"].get("clocks", {})
        result["aa"] = f"{control['aa_ratio']:.4f} [{control['aa_lo']:.4f}, {control['aa_hi']:.4f}]" if control else "-"
        result["sm_mhz"] = f"{clocks['sm_mhz_before']}-{clocks['sm_mhz_after']}" if clocks.get("known") else "-"
        if speedup.get("modelled"):
            raise SystemExit(f"{name}: modelled times have no place in this table")
        result.update(emitted="yes" if emitted else "certified", speedup=f"{speedup['estimate']:.3f}", lo=f"{speedup['lo']:.3f}", hi=f"{speedup['hi']:.3f}")
    return result


def main():
    out, names = sys.argv[1], sys.argv[2:]
    rows = [row(out, n) for n in names]
    with open(os.path.join(out, "device.txt"), encoding="utf-8") as f:
        device = f.read().strip()
    accepted = [r for r in rows if r["emitted"] != "no"]
    geomean = math.exp(sum(math.log(float(r["speedup"])) for r in accepted) / len(accepted)) if accepted else float("nan")
    strong = sum(float(r["lo"]) > 1.3 for r in accepted)
    columns = ["example", "emitted", "speedup", "lo", "hi", "trials", "gates_failed", "aa", "sm_mhz", "recheck"]
    lines = [
        "# kscc -O-agent over kernels/examples: measured speed-up T_reference / T_kernel of the final confirmation, with its 95 % interval",
        f"# date {datetime.date.today()}; device, driver, SM clock, memory clock, max SM clock: {device}",
        f"# commit {os.environ.get('COMMIT', 'unknown')}; command: tests/gpu/examples.sh; budget {os.environ.get('KSCC_EXAMPLES_BUDGET', 'default')}",
        f"# accepted {len(accepted)} of {len(rows)}; geometric mean of the accepted {geomean:.3f}; lower bound above 1.3: {strong}",
        "# emitted: certified = the gate passed, but the run ended before the object was written; recheck = tests/recheck on the emitted object",
        "# aa = the original against itself before the search, ratio and interval; sm_mhz = SM clock before and after the timing",
        "\t".join(columns),
    ] + ["\t".join(str(r[c]) for c in columns) for r in rows]
    text = "\n".join(lines) + "\n"
    with open(os.path.join(out, "examples.tsv"), "w", encoding="utf-8") as f:
        f.write(text)
    print(text, end="")


main()
