#!/usr/bin/env python3
"""Prints docs/BANK.md: every question of the bank.  `page.py --check FILE` says whether FILE is what it would print."""
import json, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
LAYERS = ["operator-boundary", "data-movement", "memory-access", "synchronization", "parallel-decomposition", "compute", "compilation"]


def bounds(c):
    return "".join(" %s %g" % (sign, c[key]) for key, sign in (("min", ">="), ("max", "<=")) if key in c)


def condition(c):
    if c is None:
        return "always"
    if "evidence" in c:
        return "`%s`%s" % (c["evidence"], bounds(c))
    if "layer_score" in c:
        return "score of %s%s" % (c["layer_score"]["layer"], bounds(c["layer_score"]))
    if "failed_gate" in c:
        return "gate %s failed" % c["failed_gate"]
    if "trials_without_gain" in c:
        n = c["trials_without_gain"]
        return "%d trial%s without gain" % (n, "" if n == 1 else "s")
    if "last_layer" in c:
        return "last trial on " + c["last_layer"]
    if "point" in c:
        return "at " + c["point"]
    if "not" in c:
        return "not (%s)" % condition(c["not"])
    key = "all" if "all" in c else "any"
    return (" and " if key == "all" else " or ").join(
        "(%s)" % condition(x) if "all" in x or "any" in x else condition(x) for x in c[key])


def page():
    banks = {layer: json.load(open(os.path.join(HERE, "bank", layer + ".json"))) for layer in LAYERS}
    out = ["# The question bank", "",
           "Generated from `questions/bank/*.json` by `questions/page.py`; a test holds it current. How a question is picked and what its condition means:",
           "[QUESTIONS.md](QUESTIONS.md); the evidence keys: [EVIDENCE.md](EVIDENCE.md).", "",
           "| layer | questions | redirects | challenges |", "|---|---|---|---|"]
    for layer, bank in banks.items():
        redirects = sum(q["kind"] == "redirect" for q in bank)
        out.append("| %s | %d | %d | %d |" % (layer, len(bank), redirects, len(bank) - redirects))
    out.append("| all | %d | | |" % sum(len(b) for b in banks.values()))
    for layer, bank in banks.items():
        out += ["", "## " + layer, "", "| question | kind | asked when | origin |", "|---|---|---|---|"]
        out += ["| %s | %s | %s | %s |" % (q["text"], q["kind"], condition(q.get("when")), q["origin"]) for q in bank]
    return "\n".join(out) + "\n"


if len(sys.argv) == 3 and sys.argv[1] == "--check":
    same = open(sys.argv[2]).read() == page()
    print("current" if same else sys.argv[2] + " is not what questions/page.py prints")
    sys.exit(0 if same else 1)
sys.stdout.write(page())
