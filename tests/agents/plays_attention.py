"""Plays a competent agent on kernels/examples/attention.cu: reads, measures, is wrong once by a real mistake, understands the verdict,
and finds wider loads for the scores."""

LOOP = """    for (int d = 0; d < D; d++)
        sum += __half2float(q_row[d]) * __half2float(k_row[d]);
    scores[((size_t)bh * S + i) * S + j] = sum * scale;"""
PAIRS = """    const half2 *q_pair = (const half2 *)q_row, *k_pair = (const half2 *)k_row; // rows of D halves: whole pairs
    for (int d = 0; d < D / 2; d++) {
        float2 a = __half22float2(q_pair[d]), b = __half22float2(k_pair[d]);
        sum += a.x * b.x;
        sum += a.y * b.y;
    }
    scores[((size_t)bh * S + i) * S + j] = sum%s;"""
WHY = "each thread of attention_scores reads single halves: pairs need half the load instructions"


def last(request):
    return "".join(r["text"] for r in request["said"][-1]["results"])


def reply(turn, request):
    if turn == 0:
        return {"text": "Where does the time go?", "calls": [("profile", {}), ("search", {"pattern": "__half2float"}), ("read", {"first_line": 14, "last_line": 32})]}
    if turn == 1:
        assert "attention_scores" in last(request)
        return {"calls": [("state_hypothesis", {"layer": "memory-access", "hypothesis": WHY, "predicted_speedup": 1.3}),
                          ("edit", {"old": LOOP, "new": PAIRS % ""}), ("evaluate", {"label": "pairs of halves"})]}
    if turn == 2:
        assert '"failed_gate":"numerics"' in last(request), last(request)
        return {"text": "The scale was lost.", "calls": [("edit", {"old": "+ j] = sum;", "new": "+ j] = sum * scale;"}),
                                                        ("state_hypothesis", {"layer": "memory-access", "hypothesis": WHY, "predicted_speedup": 1.3}),
                                                        ("evaluate", {"label": "pairs of halves, scaled"})]}
    if turn == 3:
        assert '"outcome":"accepted"' in last(request), last(request)
    return {"calls": [("best", {}), ("claim_limit", {"reason": "this is what the exercise asks for"})]}
