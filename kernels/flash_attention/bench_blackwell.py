#!/usr/bin/env python3
"""Times flash_attention_forward_sm100, cuDNN (PyTorch's SDPA) and, where it is importable, FlashAttention-4, interleaved.

    bench_blackwell.py --library libfa.so --scenarios scenarios.tsv --model docs/results/fa_blackwell_model.tsv --out fa_blackwell_b200.tsv
    bench_blackwell.py ... --plan       loads the library and says what would be measured; needs no GPU and no PyTorch

Method: bench.py's (graphs, rounds, order rotated and turned round, medians of ratios within a round, outputs compared with cuDNN's before
timing up to 8192).  fa4_ratio = FlashAttention-4's time / ours, `-` where it refuses (it has no head_dim 256 yet) or is not there.  modelled_ratio =
measured / modelled: what the model of the emulated device, which was made without a card, was worth."""
import argparse
import ctypes
import sys
import time

import bench
from bench import Args, KEY, Scenario, geomean, interval, measure, median, ratio, read_table, smi, strides

HEAD = KEY + ("ms", "tflops", "fa4_ms", "fa4_ratio", "fa4_ratio_lo", "fa4_ratio_hi", "cudnn_ms", "cudnn_ratio", "modelled_ms", "modelled_ratio", "rounds")


def ours(path):
    fn = ctypes.CDLL(path).flash_attention_forward_sm100
    fn.argtypes = [ctypes.c_void_p, ctypes.c_void_p]

    def prepare(s):
        a = Args(s.q.data_ptr(), s.k.data_ptr(), s.v.data_ptr(), s.o.data_ptr(), s.lse.data_ptr(), strides(s.q), strides(s.k), strides(s.v),
                 strides(s.o), s.batch, s.seqlen, s.seqlen, s.heads_q, s.heads_kv, s.dim, 0 if s.dtype == "bf16" else 1, s.causal, s.dim**-0.5)

        def call(keep=a):
            e = fn(ctypes.addressof(keep), bench.torch.cuda.current_stream().cuda_stream)
            if e:
                raise RuntimeError("cudaError %d" % e)

        return call

    return prepare


def fa4():
    try:
        from flash_attn.cute import flash_attn_func
    except Exception as e:  # whatever an import of a wheel can raise
        print("FlashAttention-4 is not measured here: %s" % str(e)[:300].replace("\n", " "))
        return None

    def prepare(s):
        call = lambda: flash_attn_func(s.q, s.k, s.v, causal=bool(s.causal))
        try:
            call()
            bench.torch.cuda.synchronize()
        except Exception as e:
            print("FlashAttention-4 refuses %s: %s" % (" ".join(s.key), str(e)[:120].replace("\n", " ")))
            return None
        return call

    return prepare


def compare(s, calls, name, want):
    """False: ours is off, and no number is given."""
    s.o.fill_(float("nan"))
    calls[name]()
    worst = (s.o - want).abs().max().item()
    if not worst < 0.1:
        print("WRONG", *s.key, "off by %g" % worst)
    return worst < 0.1


def line(s, times, modelled):
    mine = times["ours"]
    ms = median(mine)
    cell = list(s.key) + ["%.4f" % ms, "%.1f" % (s.flops / ms / 1e9)]
    if "fa4" in times:
        cell += ["%.4f" % median(times["fa4"]), "%.4f" % ratio(times["fa4"], mine)] + ["%.4f" % x for x in interval(times["fa4"], mine)]
    else:
        cell += ["-"] * 4
    return cell + ["%.4f" % median(times["cudnn"]), "%.4f" % ratio(times["cudnn"], mine), "%.4f" % modelled, "%.3f" % (ms / modelled), "%d" % len(mine)]


def run(o, scenarios, modelled):
    torch, library, them, wrong, ratios, lines = bench.torch, ours(o.library), fa4(), False, {"fa4": [], "cudnn": []}, []
    before, start = smi(), time.time()
    for s in scenarios:
        s.tensors()
        calls = {"ours": library(s), "cudnn": bench.cudnn(s)}
        other = them(s) if them else None
        if other:
            calls["fa4"] = other
        with bench.sdpa_kernel(bench.SDPBackend.CUDNN_ATTENTION):
            right = s.seqlen > 8192 or compare(s, calls, "ours", calls["cudnn"]().transpose(1, 2))
            if right:
                times = measure(calls, o.rounds, o.batch_s)
                lines.append(line(s, times, modelled[s.key]))
                for n in ratios:
                    ratios[n] += [ratio(times[n], times["ours"])] if n in times else []
        wrong |= not right
        s.free()
    with open(o.out, "w") as f:
        f.write("# flash_attention_forward_sm100 beside cuDNN %s (PyTorch %s) and FlashAttention-4 (%s)\n" % (
            torch.backends.cudnn.version(), torch.__version__, "flash_attn.cute" if them else "not there"))
        f.write("# date %s; before: %s; after: %s; %.0f s; no clocks were set\n" % (time.strftime("%Y-%m-%d"), before, smi(), time.time() - start))
        f.write("# commit %s; command: bench_blackwell.py %s\n" % (o.commit, " ".join(sys.argv[1:])))
        f.write("\t".join(HEAD) + "\n" + "".join("\t".join(l) + "\n" for l in lines))
    for n, r in ratios.items():
        print("%s: %d rows, geometric mean %.3f times as fast as %s, worst %.3f" % (o.out, len(r), geomean(r), n, min(r)) if r else "no row of %s" % n)
    return 1 if wrong else 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--library", required=True)
    p.add_argument("--scenarios", required=True)
    p.add_argument("--model", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--commit", default="unknown")
    p.add_argument("--rounds", type=int, default=8)
    p.add_argument("--batch-s", type=float, default=0.012)
    p.add_argument("--plan", action="store_true")
    o = p.parse_args()
    scenarios = [Scenario(r) for r in read_table(o.scenarios)]
    modelled = {Scenario(r).key: float(r["modelled_ms"]) for r in read_table(o.model)}
    missing = [s.key for s in scenarios if s.key not in modelled]
    if missing:
        sys.exit("%s lacks %d scenarios, the first is %s" % (o.model, len(missing), " ".join(missing[0])))
    if o.plan:
        ours(o.library)
        seconds = len(scenarios) * o.batch_s * 3 * (o.rounds + 2)
        print("would measure %d scenarios, about %.0f s; the library loads and has its entry; modelled %.0f to %.0f TFLOP/s" % (
            len(scenarios), seconds, *(f(s.flops / modelled[s.key] / 1e9 for s in scenarios) for f in (min, max))))
        return 0
    return run(o, scenarios, modelled)


sys.exit(main())
