"""Plays an agent on the small unit of tests/cli/lib.sh that follows two lines in one reply: a wrong one, and the fusion."""

BODY = "        y[i] = x[i] * 3.0f;"


def state(layer, why):
    return ("state_hypothesis", {"layer": layer, "hypothesis": why, "predicted_speedup": 1.8})


def reply(turn, request):
    assert turn > 0 or "Devices: 2" in request["said"][1]["text"]
    if turn == 0:
        return {"calls": [("edit", {"old": BODY, "new": "        y[i] = 4.0f;"}), state("compute", "a constant needs no load"),
                          ("evaluate", {"label": "wrong"}), ("branch", {"candidate": 0}),
                          ("edit", {"text": request["said"][1]["text"].split("```\n")[1].replace(BODY, "        y[i] = x[i] * 3.0f + 1.0f;").replace("    shift<<<(n + 255) / 256, 256, 0, stream>>>(y, n);\n", "")}),
                          state("operator-boundary", "y makes a round trip between two launches"), ("evaluate", {"label": "fuse"}), ("history", {})]}
    return {"calls": [("claim_limit", {"reason": "nothing is left"})]}
