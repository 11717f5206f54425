"""Plays an agent on the small unit of tests/cli/lib.sh: looks, is wrong twice, finds the fusion."""
import json

BODY = "        y[i] = x[i] * 3.0f;"


def last_results(request):
    out = []
    for s in reversed(request["said"]):
        if s["role"] == "assistant":
            break
        out = s["results"] + out
    return out


def reply(turn, request):
    turns = [
        {"text": "Looking first.", "calls": [("read", {}), ("search", {"pattern": "__global__"}), ("profile", {}), ("nonsense", {})]},
        {"calls": [("evaluate", {})]},
        {"calls": [("edit", {"old": BODY, "new": "        y[i] = 4.0f;"}),
                   ("state_hypothesis", {"layer": "compute", "hypothesis": "a constant needs no load", "predicted_speedup": 9.0}),
                   ("evaluate", {"label": "a wrong turn"})]},
        {"calls": [("branch", {"candidate": 0}),
                   ("edit", {"old": BODY, "new": "        y[i] = x[i] * 3.0f + 1.0f;"}),
                   ("edit", {"old": "    shift<<<(n + 255) / 256, 256, 0, stream>>>(y, n);\n", "new": ""}),
                   ("state_hypothesis", {"layer": "operator-boundary", "hypothesis": "y makes a round trip between two launches", "predicted_speedup": 1.8}),
                   ("evaluate", {"label": "fuse"}), ("history", {})]},
        {"calls": [("edit", {"old": "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        y[i] = x[i] * 3.0f + 1.0f;",
                             "new": "    // one pass\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        y[i] = x[i] * 3.0f + 1.0f;"}),
                   ("state_hypothesis", {"layer": "compute", "hypothesis": "a comment is free", "predicted_speedup": 1.01}),
                   ("evaluate", {"label": "only a comment"})]},
        {"calls": [("best", {}), ("claim_limit", {"reason": "one read and one write for each element are left"})]},
    ]
    return turns[turn] if turn < len(turns) else {"calls": [("claim_limit", {"reason": "nothing is left"})]}
