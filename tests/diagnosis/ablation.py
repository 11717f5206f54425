#!/usr/bin/env python3
"""ablation.py KSCC SOURCE_DIR [--every=N] [--trials=N] [--out=FILE] [--scratch=DIR] [UNIT...]: does it matter who asks?

The builtin agent searches each unit (the examples, and every N-th labelled kernel) on the emulated device with the same budget of trials, and
  off     nobody asks                                        (--kscc-ask=off)
  bank    the bank asks, from an empty memory                (--kscc-ask=bank)
  random  at the same decision points a question drawn from the whole bank, whatever the evidence (--kscc-ask=human:FILE), seeds 1, 2, 3
For each it counts the trials until the best verified speed-up so far is at least 90 % of the best that any of the five searches found; one more
than the budget where it never is.  `off` and `bank` have no chance in them: on the emulated device the same search gives the same bytes
(cli.repeatable), so a seed changes `random` alone.

A text that an earlier search of the unit had judged is not judged again: the searches of a unit share their journal, whose verdicts are
the same for all of them.  Rows go to --out as they come, so a run that was stopped goes on where it was.
"""
import glob
import json
import os
import random
import shutil
import subprocess
import sys

ARMS = [("off", 0), ("bank", 0), ("random", 1), ("random", 2), ("random", 3)]
HEAD = "unit\tset\task\tseed\ttrials\tquestions\tbest\tbest_known\tto_90"


def bank_questions(source):
    return [(q["layer"], q["text"]) for f in sorted(glob.glob(f"{source}/questions/bank/*.json")) for q in json.load(open(f))]


def forget_result(store):
    """Everything but the journal: the next search begins anew and is told the verdicts."""
    for folder in glob.glob(f"{store}/objects/*"):
        for name in os.listdir(folder):
            if name != "journal.jsonl":
                os.remove(os.path.join(folder, name))
    for name in ("memory.json", "index.db"):
        if os.path.exists(f"{store}/{name}"):
            os.remove(f"{store}/{name}")
    shutil.rmtree(f"{store}/cache", ignore_errors=True)


def search(kscc, unit, ask, seed, trials, bank, scratch):
    """Speed-up of each trial in order (0: not accepted), and how many questions were put."""
    trace, store, who = f"{scratch}/trace.jsonl", f"{scratch}/store", ask
    if ask == "random":
        draw = random.Random(f"{os.path.basename(unit)} {seed}")
        with open(f"{scratch}/questions", "w") as f:
            for _ in range(200):
                f.write("%s: %s\n" % draw.choice(bank))
        who = f"human:{scratch}/questions"
    if os.path.exists(store):
        forget_result(store)
    if os.path.exists(trace):
        os.remove(trace)
    line = [kscc, "-O-agent", f"--kscc-budget=trials:{trials}", f"--kscc-ask={who}", "--kscc-device=emulated:sm_90a", f"--kscc-dir={store}",
            f"--kscc-trace={trace}", "--kscc-policy=explore", "-std=c++14", "-arch=sm_90a", "-c", unit, "-o", f"{scratch}/unit.o"]
    done = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=1800)
    if not done.returncode and not os.path.exists(trace):
        return None  # a unit that is not searched, such as one that keeps state between calls
    if done.returncode:
        sys.exit(f"{unit}, {ask}: status {done.returncode}\n{done.stderr[-2000:]}")
    found, questions, entry = [], 0, None
    for e in map(json.loads, open(trace)):
        if e["ev"] == "start":
            if entry is not None:
                break  # the first entry of the unit speaks for it
            entry = e["entry"]
        questions += e["ev"] == "question"
        if e["ev"] == "verdict" and e["phase"] == "trial":
            v = e["verdict"]
            found.append(v.get("speedup", 0.0) if v["outcome"] == "accepted" else 0.0)
    return found, questions


def to_reach(found, goal, trials):
    for i, s in enumerate(found):
        if s >= goal:
            return i + 1
    return 0 if goal <= 1.0 else trials + 1


def summary(rows, trials, out):
    for which in ("examples", "labelled", "both"):
        for ask in ("off", "bank", "random"):
            mine = [r for r in rows if r[2] == ask and (which in (r[1], "both"))]
            gains = [r for r in mine if float(r[7]) > 1.0]
            if not gains:
                continue
            reached = sum(int(r[8]) <= trials for r in gains)
            mean = sum(int(r[8]) for r in gains) / len(gains)
            print(f"# {which}, {ask}: {mean:.2f} trials on average, {reached} of {len(gains)} searches got there (units with any gain)", file=out)


def main():
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
    words = [a for a in sys.argv[1:] if not a.startswith("--")]
    kscc, source, named = os.path.abspath(words[0]), os.path.abspath(words[1]), words[2:]
    every, trials = 1 if named else int(options.get("every", 5)), int(options.get("trials", 12))
    path, scratch = options.get("out", "ablation.tsv"), options.get("scratch", "/tmp/kscc-ablation")
    units = [(u, "examples") for u in sorted(glob.glob(f"{source}/kernels/examples/*.cu"))]
    units += [(u, "labelled") for u in sorted(glob.glob(f"{source}/tests/diagnosis/kernels/*.cu"))[::every]]
    bank = bank_questions(source)
    rows = [l.rstrip("\n").split("\t") for l in open(path) if l[0] != "#" and not l.startswith("unit\t")] if os.path.exists(path) else []
    for unit, which in units:
        name = os.path.basename(unit)[:-3]
        if (named and name not in named) or any(r[0] == name for r in rows):
            continue
        shutil.rmtree(scratch, ignore_errors=True)
        os.makedirs(scratch)
        found = []
        for ask, seed in ARMS:
            one = search(kscc, unit, ask, seed, trials, bank, scratch)
            if one is None:
                break
            found.append((ask, seed, *one))
        if len(found) < len(ARMS):
            print(name, "is not searched", flush=True)
            continue
        best = max([1.0] + [s for f in found for s in f[2]])
        for ask, seed, speedups, questions in found:
            rows.append([name, which, ask, str(seed), str(len(speedups)), str(questions), f"{max([1.0] + speedups):.4f}", f"{best:.4f}",
                         str(to_reach(speedups, 0.9 * best, trials))])
        with open(path, "w") as out:
            print(f"# Trials until 90 % of the best known speed-up, by who asks: tests/diagnosis/ablation.py --every={every} --trials={trials} {' '.join(named)}", file=out)
            print("# emulated device sm_90a (speed-ups are modelled), builtin agent, empty memory; to_90 is one more than the budget where it never came", file=out)
            summary(rows, trials, out)
            print(HEAD, file=out)
            for r in rows:
                print("\t".join(r), file=out)
        print(name, [(r[2], r[8]) for r in rows[-len(ARMS):]], flush=True)


main()
