#!/usr/bin/env python3
"""Fits a, b, c of score = sigmoid(a + b logit(suspicion) + c logit(share)), the constants KS_SCORE_* of analyzer/hypothesis.c.

    diagnosis_score kernels --counters=counters --rows | calibrate.py [--table=FILE]

A row's target is 1 for the labelled layer and 0 for the others.  Kernels are split in halves by a seeded shuffle; each half is judged by
constants fitted on the other, ten times, and the held-out accuracies are printed beside those of the present constants."""
import math, random, sys


def logit(p):
    p = min(max(p, 0.01), 0.99)
    return math.log(p / (1 - p))


def score(w, s, p):
    return 1 / (1 + math.exp(-(w[0] + w[1] * logit(s) + w[2] * logit(p))))


def fit(kernels):
    w = [0.0, 0.6, 0.9]
    rows = [(logit(s), logit(p), layer == label) for label, rows in kernels for layer, s, p in rows]
    for step in range(4000):
        g = [0.0, 0.0, 0.0]
        for x, y, t in rows:
            e = 1 / (1 + math.exp(-(w[0] + w[1] * x + w[2] * y))) - t
            g[0] += e
            g[1] += e * x
            g[2] += e * y
        w = [v - 0.5 * d / len(rows) for v, d in zip(w, g)]
    return w


def accuracy(w, kernels):
    first = second = 0
    for label, rows in kernels:
        order = sorted(rows, key=lambda r: -score(w, r[1], r[2]))
        names = [r[0] for r in order]
        first += names[:1] == [label]
        second += label in names[:2]
    return first / len(kernels), second / len(kernels)


def main():
    data = {}
    for line in sys.stdin:
        name, label, layer, s, p, _ = line.rstrip("\n").split("\t")
        p = float(s) if p in ("nan", "-nan") else float(p)
        data.setdefault(name, (label, []))[1].append((layer, float(s), p))
    kernels = [data[k] for k in sorted(data)]
    lines = ["fit\tconst\tsuspicion\tshare\ttop1\ttop2\ton"]
    def add(what, w, acc, on):
        lines.append("%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%s" % (what, w[0], w[1], w[2], acc[0], acc[1], on))
    present = [0.0, 0.6, 0.9]
    add("present", present, accuracy(present, kernels), "all")
    whole = fit(kernels)
    add("all", whole, accuracy(whole, kernels), "all (not held out)")
    sums = [0.0, 0.0]
    for seed in range(5):
        order = kernels[:]
        random.Random(seed).shuffle(order)
        half = len(order) // 2
        for a, b in ((order[:half], order[half:]), (order[half:], order[:half])):
            w = fit(a)
            acc = accuracy(w, b)
            sums = [x + y for x, y in zip(sums, acc)]
            add("half, seed %d" % seed, w, acc, "the other half")
    lines.append("mean of held out\t\t\t\t%.3f\t%.3f\tthe other halves" % (sums[0] / 10, sums[1] / 10))
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if len(sys.argv) > 1 and sys.argv[1].startswith("--table="):
        with open(sys.argv[1][8:], "w") as f:
            f.write("# Constants of the scores and how they do on kernels they were not fitted on: tests/diagnosis/calibrate.py over %d labelled kernels\n" % len(kernels))
            f.write("# (emulated device, modelled times).  Both the kernels and the rules were written by the same people: this is no blind test.\n" + text)


main()
