#!/usr/bin/env python3
"""Times flash_attention_forward_sm90, cuDNN (PyTorch's SDPA) and, where its wheel is importable, FlashAttention-3, interleaved.

    bench.py --library libfa.so --scenarios scenarios.tsv --baseline baselines_fa3_h200.tsv --out fa_hopper_h200.tsv

More --library NAME=PATH are measured in the same rounds, each with a table of its own (OUT.NAME).
Method: inputs N(0,1), layout [B,S,H,D]; warm-up calls of each; then as many calls of each as take the fastest BATCH_S are recorded
into a graph, so that nobody's Python side is measured (one call of the wheel costs it half a millisecond).  Rounds: a replay of every
contestant, order rotated and turned round; the first is not counted, the card starts cool.  A round's time is the replay's over its
calls, ms and the other times are medians over rounds.  No L2 flush.  A library that refuses a scenario is left out of it.
TFLOP/s counts 4*B*Hq*S*S*D operations, halved when causal.
fa3_ratio = FA3's time / ours: the median over rounds of the two times of one round, a few milliseconds apart, so that the card's
clock, which moves by a tenth in a run, is in both; the interval is a 95 % bootstrap over rounds.  best_ratio, the same to the faster of FA3 and cuDNN
(of their ratios), counts for "x best".  Where FA3 runs (bf16 only in the wheel) it is of this run (fa3_source run).  Of other types FA3 is
run on the same values as bf16, in the same rounds, and multiplied by what the baseline table says it takes on this type over what
it takes on bf16 (twin).  Where FA3 did not run its time is the table's, multiplied by cuDNN's drift, here / in the table, in the same
rounds (table), and, where it ran on the same scenario in bf16, by how far FA3's drift was from cuDNN's there (corrected).  Where --others-until-s left cuDNN out (unpaired) the drift is cuDNN's at the head size and mask, and the interval
only our own spread.
--until-width W: a row whose interval is wider than W (high / low - 1; to cuDNN where FA3 does not run) is measured for as many
rounds more, and again, up to --most-rounds.  The rule looks at the width only and holds for every row; all rounds of a row count.
"""
import argparse, csv, ctypes, gzip, json, math, os, random, statistics, subprocess, sys, time

try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError:
    torch = None  # enough for --from-raw


class Strides(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int64) for n in ("batch", "row", "head")]


class Args(ctypes.Structure):
    _fields_ = ([(n, ctypes.c_void_p) for n in ("q", "k", "v", "o", "lse")] +
                [(n, Strides) for n in ("q_stride", "k_stride", "v_stride", "o_stride")] +
                [(n, ctypes.c_int32) for n in ("batch", "seqlen_q", "seqlen_k", "heads_q", "heads_kv", "head_dim", "dtype", "causal")] +
                [("scale", ctypes.c_float)])


def strides(t):
    return Strides(t.stride(0), t.stride(1), t.stride(2))


KEY = ("dtype", "head_dim", "heads_q", "heads_kv", "batch", "seqlen", "causal")


class Scenario:
    def __init__(self, row):
        self.key = tuple(row[k] for k in KEY)
        self.dtype = row["dtype"]
        self.dim, self.heads_q, self.heads_kv, self.batch, self.seqlen, self.causal = (int(x) for x in self.key[1:])
        self.flops = 4.0 * self.batch * self.heads_q * self.seqlen ** 2 * self.dim / (2 if self.causal else 1)

    def tensors(self):
        kind = torch.bfloat16 if self.dtype == "bf16" else torch.float16
        make = lambda h: torch.randn(self.batch, self.seqlen, h, self.dim, device="cuda", dtype=kind)
        self.q, self.k, self.v = make(self.heads_q), make(self.heads_kv), make(self.heads_kv)
        self.o = torch.full_like(self.q, float("nan"))
        self.lse = torch.full((self.batch, self.heads_q, self.seqlen), float("nan"), device="cuda")

    def free(self):
        self.q = self.k = self.v = self.o = self.lse = None


def ours(path):
    fn = ctypes.CDLL(path).flash_attention_forward_sm90
    fn.argtypes = [ctypes.c_void_p, ctypes.c_void_p]

    def prepare(s):
        a = Args(s.q.data_ptr(), s.k.data_ptr(), s.v.data_ptr(), s.o.data_ptr(), s.lse.data_ptr(), strides(s.q), strides(s.k),
                 strides(s.v), strides(s.o), s.batch, s.seqlen, s.seqlen, s.heads_q, s.heads_kv, s.dim,
                 0 if s.dtype == "bf16" else 1, s.causal, s.dim ** -0.5)
        p = ctypes.addressof(a)

        def call(keep=a):
            e = fn(p, torch.cuda.current_stream().cuda_stream)
            if e:
                raise RuntimeError("cudaError %d" % e)
        return None if fn(p, torch.cuda.current_stream().cuda_stream) else call
    return prepare


def cudnn(s):
    q, k, v = (t.transpose(1, 2) for t in (s.q, s.k, s.v))

    def call():
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=bool(s.causal), enable_gqa=s.heads_q != s.heads_kv)
    return call


def fa3():
    try:
        from fa3_fwd_interface import flash_attn_func
        x = torch.randn(1, 256, 2, 64, device="cuda", dtype=torch.bfloat16)
        flash_attn_func(x, x, x)
        torch.cuda.synchronize()
    except Exception as e:
        print("FA3 not measured here: %s" % str(e)[:300].replace("\n", " "))
        return None

    def prepare(s):
        q, k, v = (t.to(torch.bfloat16) for t in (s.q, s.k, s.v))
        return lambda: flash_attn_func(q, k, v, causal=bool(s.causal))
    return prepare


def recorded(f, n):
    """A function that replays n calls of f."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        graph.capture_begin()
        for _ in range(n):
            f()
        graph.capture_end()
    torch.cuda.current_stream().wait_stream(stream)
    return graph.replay


def elapsed(f):
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    a.record(), f(), b.record()
    torch.cuda.synchronize()
    return a.elapsed_time(b)


def wide(result, library):
    """How much wider than a point the interval of the ratio of FA3, or else cuDNN, to the library is."""
    other = next((n for n in ("fa3", "cudnn") if n in result), None)
    if library not in result or other is None:
        return 0.0
    lo, hi = interval(result[other], result[library])
    return hi / lo - 1


def measure(calls, rounds, batch_s, enough=lambda result: True):
    """calls: {name: function}; returns {name: [ms a call in round 0, ...]}; `rounds` of them, and as many again until enough."""
    for f in calls.values():
        f()
    count = max(1, min(200, int(batch_s * 1000 / min(elapsed(f) for f in calls.values()))))
    replay = {n: recorded(f, count) for n, f in calls.items()}
    names, result = list(calls), {n: [] for n in calls}
    r = -1
    while r < rounds or r % rounds or not enough(result):
        k = r % len(names)
        order = names[k:] + names[:k]
        for n in order if r // len(names) % 2 == 0 else order[::-1]:
            ms = elapsed(replay[n]) / count
            if r >= 0:
                result[n].append(ms)
        r += 1
    return result


def median(rounds):
    return statistics.median(rounds)


def ratio(top, bottom):
    """Median over rounds of the times of one round."""
    return median([a / b for a, b in zip(top, bottom)])


def interval(top, bottom, scale=1.0, draws=300):
    """95 % bootstrap interval, over rounds, of scale * ratio(top, bottom)."""
    rng = random.Random(1)
    each = [scale * a / b for a, b in zip(top, bottom)]
    ratios = sorted(median([rng.choice(each) for _ in each]) for _ in range(draws))
    return ratios[int(0.025 * draws)], ratios[int(0.975 * draws) - 1]


def geomean(xs):
    return math.exp(sum(math.log(x) for x in xs) / len(xs)) if xs else float("nan")


def read_table(path):
    with open(path) as f:
        return list(csv.DictReader((l for l in f if not l.startswith("#")), delimiter="\t"))


def smi():
    q = "name,driver_version,clocks.sm,clocks.mem,power.draw,clocks_event_reasons.active"
    return subprocess.run(["nvidia-smi", "--query-gpu=" + q, "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()


def report(rows, title=""):
    print("%-28s %4s %8s %8s %8s %8s" % (title, "n", "TFLOP/s", "x FA3", "x best", "worst"))
    def line(name, sel):
        if sel:
            print("%-28s %4d %8.1f %8.3f %8.3f %8.3f" % (name, len(sel), geomean([r["tflops"] for r in sel]),
                  geomean([r["fa3_ratio"] for r in sel]), geomean([r["best_ratio"] for r in sel]),
                  min(r["fa3_ratio"] for r in sel)))
    line("all", rows)
    for what, key in (("length", "seqlen"), ("D", "dim"), ("causal", "causal"), ("type", "dtype")):
        for v in sorted({getattr(r["s"], key) for r in rows}):
            line("%s %s" % (what, v), [r for r in rows if getattr(r["s"], key) == v])
    for d in (64, 128, 256):
        for c in (0, 1):
            for n in sorted({r["s"].seqlen for r in rows}):
                line("D%d causal%d %d" % (d, c, n), [r for r in rows if (r["s"].dim, r["s"].causal, r["s"].seqlen) == (d, c, n)])


HEAD = "dtype head_dim heads_q heads_kv batch seqlen causal ms tflops fa3_ms fa3_ratio fa3_ratio_lo fa3_ratio_hi cudnn_ms fa3_source fa3_table_ms best_ratio rounds".split()


def save(path, comment, raw):
    with open(path, "w") as f:
        json.dump([comment, raw], f)


def run(o):
    """Measures; returns the comment lines and [{key, times: {name: rounds}}]."""
    libraries = {(l.split("=")[0] if "=" in l else "ours"): ours(l.split("=")[-1]) for l in o.library}
    them = None if o.no_fa3 else fa3()
    while o.wait_for and not os.path.exists(o.wait_for):
        time.sleep(0.05)
    start = time.time()
    x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    y = x @ x
    gemm = median(measure({"g": lambda: x @ x}, 3, 0.02)["g"])
    del x, y
    comment = ["flash_attention_forward_sm90 beside cuDNN %s (PyTorch %s) and FlashAttention-3 (%s)" % (
                   torch.backends.cudnn.version(), torch.__version__, "wheel fa3-fwd, bf16; else baseline table" if them else "baseline table"),
               "date %s; %s; no clocks were set; bf16 8192^3 product: %.0f TFLOP/s" % (time.strftime("%Y-%m-%d"), smi(), 2 * 8192 ** 3 / gemm / 1e9),
               "commit %s; command: bench.py %s" % (o.commit, " ".join(sys.argv[1:]))]
    raw = []
    for r in read_table(o.scenarios):
        spent = time.time() - start
        if spent > o.limit_s:
            break
        s = Scenario(r)
        s.tensors()
        some = list(libraries) if spent < o.others_until_s else list(libraries)[:2]
        calls = {n: libraries[n](s) for n in some}
        calls = {n: f for n, f in calls.items() if f}
        some = list(calls)
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            if spent < o.others_until_s:
                calls["cudnn"] = cudnn(s)
                if them:
                    calls["fa3"] = them(s)
                if s.seqlen <= 8192:
                    want = calls["cudnn"]().transpose(1, 2)
                    for n in some:
                        s.o.fill_(float("nan"))
                        calls[n]()
                        worst = (s.o - want).abs().max().item()
                        if not worst < 0.1:
                            print("WRONG", n, *s.key, "off by %g" % worst)
                            del calls[n]  # no number for it
                            o.wrong = True
                    del want
            first = next((n for n in some if n in calls), None)
            enough = lambda t: first is None or len(t[first]) >= o.most_rounds or wide(t, first) <= o.until_width
            raw.append(dict(key=s.key, times=measure(calls, o.rounds, o.batch_s, enough)))
        s.free()
        if o.raw and len(raw) % 10 == 0:
            save(o.raw, comment, raw)
    comment.append("after: %s; %.1f s" % (smi(), time.time() - start))
    return comment, raw


def table(path, library, comment, raw, base):
    """Writes the table of one library; returns its rows."""
    drifts, apart, rows = {}, {}, []
    for r in raw:
        if "fa3" in r["times"] and "cudnn" in r["times"] and r["key"][0] == "bf16":
            b = base[tuple(r["key"])]
            apart[tuple(r["key"][1:])] = ratio(r["times"]["fa3"], r["times"]["cudnn"]) * float(b["cudnn_ms"]) / float(b["fa3_ms"])
        if "cudnn" in r["times"]:
            k = r["key"]
            for group in ((k[1], k[6], k[5]), (k[1], k[6])):
                drifts.setdefault(group, []).append(median(r["times"]["cudnn"]) / float(base[tuple(k)]["cudnn_ms"]))
    with open(path, "w") as f:
        for c in comment + ["fa3_source: run = FA3 in the same rounds; twin = FA3 on bf16 in the same rounds, times this type over bf16 in the baseline table; table = baseline table times cuDNN's drift; corrected = that, times how far FA3's drift was from cuDNN's on bf16; unpaired = with cuDNN not measured in this row; fa3_ratio, best_ratio: medians over rounds of ratios within a round"]:
            f.write("# %s\n" % c)
        f.write("\t".join(HEAD) + "\n")
        for r in raw:
            if library not in r["times"]:
                continue
            s, t = Scenario(dict(zip(KEY, r["key"]))), r["times"]
            b, mine = base[s.key], t[library]
            ms, group = median(mine), (s.key[1], s.key[6], s.key[5])
            drift = statistics.median(drifts.get(group) or drifts.get(group[:2]) or [1.0])
            if "fa3" in t:
                source, other = ("run", 1.0) if s.dtype == "bf16" else ("twin", float(b["fa3_ms"]) / float(base[("bf16",) + s.key[1:]]["fa3_ms"]))
                them = [x * other for x in t["fa3"]]
            else:
                correction = apart.get(s.key[1:], 1.0)
                source = "unpaired" if "cudnn" not in t else "corrected" if s.key[1:] in apart else "table"
                drifted = [x * correction * float(b["fa3_ms"]) / float(b["cudnn_ms"]) for x in t.get("cudnn", [])]
                them = drifted or [float(b["fa3_ms"]) * drift] * len(mine)
            cudnn_times = t.get("cudnn") or [float(b["cudnn_ms"]) * drift] * len(mine)
            fms, cms, to_fa3 = median(them), median(cudnn_times), ratio(them, mine)
            lo, hi = interval(them, mine)
            to_best = min(to_fa3, ratio(cudnn_times, mine))
            rows.append(dict(s=s, ms=ms, tflops=s.flops / ms / 1e9, fa3_ms=fms, fa3_ratio=to_fa3, best_ratio=to_best, cudnn_ms=cms))
            f.write("\t".join(list(s.key) + ["%.4f" % ms, "%.1f" % (s.flops / ms / 1e9), "%.4f" % fms, "%.4f" % to_fa3, "%.4f" % lo,
                                             "%.4f" % hi, "%.4f" % cms, source, b["fa3_ms"], "%.4f" % to_best, "%d" % len(mine)]) + "\n")
    return rows


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--library", action="append", default=[], help="PATH, or NAME=PATH for further ones")
    p.add_argument("--scenarios")
    p.add_argument("--baseline", required=True)
    p.add_argument("--out", required=True, help="table; further libraries get OUT.NAME")
    p.add_argument("--raw", help="also write every time measured, or with --from-raw read them")
    p.add_argument("--from-raw", action="store_true", help="measure nothing, make the tables")
    p.add_argument("--commit", default="unknown")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--batch-s", type=float, default=0.012)
    p.add_argument("--until-width", type=float, default=1e9, help="measure a row again while its interval is wider")
    p.add_argument("--most-rounds", type=int, default=48, help="but not longer than this")
    p.add_argument("--no-fa3", action="store_true")
    p.add_argument("--wait-for", help="start measuring when this file exists")
    p.add_argument("--others-until-s", type=float, default=1e9, help="after this time measure the first two libraries only")
    p.add_argument("--limit-s", type=float, default=1e9, help="take up no scenario after this time")
    o = p.parse_args()
    o.wrong = False
    if o.from_raw:
        with (gzip.open if o.raw.endswith(".gz") else open)(o.raw) as f:
            comment, raw = json.load(f)
    else:
        comment, raw = run(o)
        if o.raw:
            save(o.raw, comment, raw)
            sys.exit(1 if o.wrong else 0)
    base = {Scenario(r).key: r for r in read_table(o.baseline)}
    raw.sort(key=lambda r: list(base).index(tuple(r["key"])))
    names = list(dict.fromkeys(n for r in raw for n in r["times"] if n not in ("cudnn", "fa3")))
    for n in names:
        report(table(o.out + ("" if n == names[0] else "." + n), n, comment, raw, base), n)
    for c in comment:
        print(c)


if __name__ == "__main__":
    main()
