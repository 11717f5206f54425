#!/usr/bin/env python3
"""facts.py KSCC SCRATCH [--out=FILE] [--cuda=DIR] [REPOSITORY...]: `kscc analyze` on public .cu files that nobody here wrote.

units.tsv names repositories with a commit, the paths in each (a regular expression), how many of its .cu files are taken (evenly over the sorted list) and the options they
need.  Sources are fetched into SCRATCH/src/NAME, or lie there already; nothing else is downloaded, so headers that a build would bring are missing.
Every file must end in time and without a signal, either analysed (whole, or the rest with the trouble named: parts) or with an error that
names file and line (refused).  Exit status 1 when one crashed, hung or failed without a reason.  Columns: repository, file, lines, verdict, kernels found,
of these left out for an error inside, layer of the first remark, seconds of processor time for the whole command, the first thing that was said about trouble.
"""
import json
import os
import re
import resource
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = 120  # of processor time


def fetch(scratch, name, url, commit):
    where = f"{scratch}/src/{name}"
    if not os.path.isdir(where):
        subprocess.run(["git", "init", "-q", where], check=True)
        subprocess.run(["git", "-C", where, "fetch", "-q", "--depth", "1", url, commit], check=True)
        subprocess.run(["git", "-C", where, "checkout", "-q", "FETCH_HEAD"], check=True)
    return where


def chosen(where, which, count):
    """which: a regular expression that the path in the repository begins with."""
    found = sorted(os.path.join(d, f) for d, _, files in os.walk(where) for f in files if f.endswith(".cu"))
    found = [f for f in found if re.match(which, os.path.relpath(f, where))]
    n = min(count, len(found))
    return [found[i * len(found) // n] for i in range(n)]


def analyse(kscc, path, options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S + 5))
    done = subprocess.run([kscc, "analyze", "--json", path] + options, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                          preexec_fn=limit)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "hung", "-", "-", "-", float(LIMIT_S), f"no answer in {LIMIT_S} s"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = re.search(r"^(.*?(?:error|warning|remark): .*)$", done.stderr, re.M)
    said = said.group(1).replace("\t", " ") if said else "-"
    if done.returncode < 0 or done.returncode > 2:
        return "crashed", "-", "-", "-", cpu, f"status {done.returncode}: {said}"
    if done.returncode:
        return ("refused" if re.search(r":\d+:\d+: ", said) else "mute"), "-", "-", "-", cpu, said
    answer = json.loads(done.stdout)
    kernels, h = answer["kernels"], answer["hypotheses"]
    return "parts" if said != "-" else "whole", str(len(kernels)), str(sum(k["left_out"] for k in kernels)), h[0]["layer"] if h else "-", cpu, said


def main():
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
    kscc, scratch, *named = [a for a in sys.argv[1:] if not a.startswith("--")]
    kscc, scratch = os.path.abspath(kscc), os.path.abspath(scratch)
    rows, counts = [], {}
    for line in open(f"{HERE}/units.tsv"):
        if line[0] == "#":
            continue
        name, url, commit, which, count, words = line.rstrip("\n").split("\t")
        if named and name not in named:
            continue
        where = fetch(scratch, name, url, commit)
        flags = [w.replace("SRC", f"{scratch}/src") for w in words.split() if w != "-"]
        for path in chosen(where, which, int(count)):
            verdict, kernels, left_out, layer, cpu, said = analyse(kscc, path, ["-arch=sm_90a", f"-I{os.path.dirname(path)}"] + flags)
            said = said.replace(where + "/", "").replace(scratch + "/src/", "")
            if "cuda" in options:
                said = said.replace(options["cuda"].rstrip("/") + "/", "")
            with open(path, errors="replace") as f:
                lines = sum(1 for _ in f)
            rows.append([name, os.path.relpath(path, where), str(lines), verdict, kernels, left_out, layer, f"{cpu:.2f}", said[:160]])
            counts[verdict] = counts.get(verdict, 0) + 1
            if verdict != "whole":
                print("\t".join(rows[-1]), flush=True)
    times = sorted(float(r[7]) for r in rows)
    with open(options.get("out", f"{scratch}/public_facts.tsv"), "w") as out:
        print("# Public .cu files through kscc analyze: tests/public/facts.py, tests/public/units.tsv (repositories, commits)", file=out)
        print(f"# {len(rows)} files: " + ", ".join(f"{n} {v}" for v, n in sorted(counts.items())), file=out)
        print(f"# processor time: median {times[len(times) // 2]:.2f} s, largest {times[-1]:.2f} s", file=out)
        print("repository\tfile\tlines\tverdict\tkernels\tleft_out\tfirst_layer\tcpu_s\tsaid", file=out)
        for r in rows:
            print("\t".join(r), file=out)
    print(counts)
    return 1 if any(counts.get(v) for v in ("crashed", "hung", "mute")) else 0


sys.exit(main())
