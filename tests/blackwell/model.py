#!/usr/bin/env python3
"""Modelled time of the attention kernels' 182 scenarios, and how far the same model is from what Hopper measured.

    model.py BUILD [--nvcc NVCC]                 table on stdout (docs/results/fa_blackwell_model.tsv)
    model.py BUILD [--nvcc NVCC] --ladder        the versions of kernels/flash_attention/trace/ladder.py (docs/results/fa_blackwell_ladder.tsv)

Nothing here is a measurement of Blackwell.  The emulated device (harness/emulated/model.c: every resource gives a lower bound, constants in
arch.def from public microbenchmarks) runs one head of at most 4096 positions on one multiprocessor, with the PTX that ships; each bound is
then scaled by useful floating-point operations to the scenario's heads, batch and length, spread over all multiprocessors in whole tiles
(full) or evenly (causal, where tiles are drawn heaviest first), with the scenario's own bytes for DRAM.  Joined as model.c joins them.

FlashAttention-4's published figures are for its own kernel on a B200: up to 1613 TFLOP/s, 71 % of peak, bf16, head_dim 128, forward."""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

NORM, DRAM_SHARE, LONGEST = 2.5, 0.86, 4096  # NORM and DRAM_SHARE: model.c's
DEVICES = {  # multiprocessors, DRAM GB/s: arch.def's sm_90 and sm_100
    "sm_90a": (132, 4800),
    "sm_100a": (148, 8000),
}
TILE_ROWS = {"sm_90a": {64: 256, 128: 192, 256: 128}, "sm_100a": {64: 256, 128: 256, 256: 128}}
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def rows(path):
    lines = [l for l in open(path).read().splitlines() if not l.startswith("#")]
    return [dict(zip(lines[0].split("\t"), l.split("\t"))) for l in lines[1:]]


def flops(seqlen, head_dim, causal):
    """Useful ones of one head."""
    return 4.0 * head_dim * (seqlen * (seqlen + 1) / 2 if causal else seqlen * seqlen)


def build_hopper(build, nvcc, out):
    obj = out + ".o"
    subprocess.run([nvcc, "-gencode", "arch=compute_90a,code=compute_90a", "-O2", "-std=c++17", "-I" + ROOT, "-c",
                    ROOT + "/tests/emulated/flash_scenarios.cu", "-o", obj], check=True)
    subprocess.run([nvcc, "-cudart", "shared", obj, *libraries(build), "-o", out], check=True)


def count(build, program, arch, scenarios, folder, longest=LONGEST):
    """Terms of one head on one multiprocessor, by (dtype, head_dim, length, causal), and how many CTAs took their part of it."""
    keys = sorted({(s["dtype"], int(s["head_dim"]), min(int(s["seqlen"]), longest), int(s["causal"])) for s in scenarios})
    listing = os.path.join(folder, arch + ".tsv")
    with open(listing, "w") as f:
        f.write("dtype\thead_dim\theads_q\theads_kv\tbatch\tseqlen\tcausal\n")
        f.writelines(f"{t}\t{d}\t1\t1\t1\t{n}\t{c}\n" for t, d, n, c in keys)
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(build, "lib/emulated"), KSCC_EMU_ARCH=arch, KSCC_EMU_CHECKS="bounds",
               KSCC_EMU_COUNTERS=folder)
    out = subprocess.run([program, "--count", listing], env=env, capture_output=True, text=True, check=True).stdout
    terms = {}
    for line in out.splitlines():
        r = json.loads(line)
        kernel = max(r["kernels"], key=lambda k: k["flops_tensor"])
        terms[r["dtype"], r["head_dim"], r["seqlen"], r["causal"]] = (kernel["modelled"], kernel["blocks"])
    return terms


def modelled(arch, s, terms, longest=LONGEST, rows=None):
    """Milliseconds, what bounds them, and the share of the tensor pipe's bound."""
    sms, gbs = DEVICES[arch]
    d, n, causal, batch = int(s["head_dim"]), int(s["seqlen"]), int(s["causal"]), int(s["batch"])
    model, blocks = terms[s["dtype"], d, min(n, longest), causal]
    heads = batch * int(s["heads_q"])
    share = heads * flops(n, d, causal) / flops(min(n, longest), d, causal) / sms * blocks  # the model gives every CTA a multiprocessor
    if not causal:
        tiles = heads * math.ceil(n / (rows or TILE_ROWS[arch][d])) / sms
        share *= math.ceil(tiles) / tiles
    parts = {k[:-3]: v * share for k, v in model["terms"].items() if k not in ("dram_ns", "dispatch_ns", "atomic_ns")}
    parts["dram"] = 2.0 * batch * n * d * (2 * int(s["heads_q"]) + 2 * int(s["heads_kv"])) / (gbs * DRAM_SHARE)
    bound = max(parts, key=parts.get)
    joined = sum((v / parts[bound]) ** NORM for v in parts.values()) ** (1 / NORM) * parts[bound]
    return (model["launch_ns"] + joined) / 1e6, bound, parts["tensor"] / joined


def libraries(build):
    names = "libkscc_emu.a", "libkscc_base.a"
    return [subprocess.run(["find", build, "-name", n], capture_output=True, text=True).stdout.split()[0] for n in names]


def tflops(s, ms):
    return int(s["batch"]) * int(s["heads_q"]) * flops(int(s["seqlen"]), int(s["head_dim"]), int(s["causal"])) / ms / 1e9


def summary(name, values):
    values = sorted(values)
    return f"# {name}: n {len(values)}, median {statistics.median(values):.3f}, tenth {values[len(values) // 10]:.3f}, nine tenths {values[-1 - len(values) // 10]:.3f}"


def ladder(build, nvcc, scenarios):
    """Every version of the ladder over all scenarios: bf16 (fp16 counts as bf16), one head of at most 1024 positions."""
    longest, tool = 1024, ROOT + "/kernels/flash_attention/trace/ladder.py"
    geomean = lambda values: math.exp(sum(map(math.log, values)) / len(values))
    listed = subprocess.run([sys.executable, tool, "list"], check=True, capture_output=True, text=True).stdout.splitlines()
    ideas = [("0", "", "", "plain")] + [tuple(l.split("\t")[:4]) for l in listed]
    date = subprocess.run(["date", "-u", "+%Y-%m-%d"], capture_output=True, text=True).stdout.strip()
    print(f"# MODELLED, not measured: versions of the Blackwell kernel (kernels/flash_attention/trace/ladder.py), {date}; command: tests/blackwell/model.py BUILD --ladder")
    print(f"# geomean: TFLOP/s over the 182 scenarios, from one bf16 head of at most {longest} positions; gain: over the version before, for N+I over N")
    print("# right: of the 18 bf16 scenarios of 512 positions, compared with double precision on the emulated device, bounds checked")
    print("version\tidea\tgeomean\tgain\tD64_full\tD64_causal\tD128_full\tD128_causal\tD256_full\tD256_causal\tright")
    before = base = 0
    for version, _, _, name in ideas:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, tool, "tree", version, folder], check=True)
            main_file = folder + "/kernels/flash_attention/blackwell.cu"
            text = open(main_file).read()
            assert text.count("fb_by_head<__half>(args, stream)") == 1
            open(main_file, "w").write(text.replace("fb_by_head<__half>(args, stream)", "cudaErrorNotSupported"))
            subprocess.run([nvcc, "-gencode", "arch=compute_100a,code=compute_100a", "-O2", "-std=c++17", "-DFLASH_BLACKWELL", "-I" + folder, "-I" + ROOT, "-c",
                            ROOT + "/tests/emulated/flash_emulated.cu", "-o", folder + "/k.o"], check=True)
            program = folder + "/scenarios"
            subprocess.run([nvcc, "-cudart", "shared", build + "/tests/emulated/flash_scenarios.o", folder + "/k.o", *libraries(build), "-o", program], check=True)
            bf16 = [dict(s, dtype="bf16") for s in scenarios]
            terms = count(build, program, "sm_100a", bf16, folder, longest)
            listing = folder + "/512.tsv"
            with open(listing, "w") as f:
                f.writelines("\t".join(s[k] for k in ("dtype", "head_dim", "heads_q", "heads_kv", "batch", "seqlen", "causal")) + "\n"
                             for s in scenarios if s["dtype"] == "bf16" and s["seqlen"] == "512")
            env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(build, "lib/emulated"), KSCC_EMU_ARCH="sm_100a", KSCC_EMU_CHECKS="bounds")
            right = subprocess.run([program, listing], env=env, capture_output=True, text=True).stdout
        all_rows, groups = [], {}
        for s in bf16:
            rate = tflops(s, modelled("sm_100a", s, terms, longest, 128 if int(version.split("+")[0]) < 4 else None)[0])
            all_rows.append(rate)
            groups.setdefault((int(s["head_dim"]), s["causal"]), []).append(rate)
        mean = geomean(all_rows)
        compared = base if "+" in version else before
        if "+" not in version:
            before = base = mean
        print("\t".join([version, name, f"{mean:.0f}", f"{mean / compared:.3f}" if compared else "", *(f"{geomean(v):.0f}" for _, v in sorted(groups.items())),
                         "%d of %d" % (right.count("\nright"), right.count("\nright") + right.count("\nWRONG"))]), flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--nvcc", default="nvcc")
    p.add_argument("--ladder", action="store_true")
    a = p.parse_args()
    build = os.path.abspath(a.build)
    scenarios = rows(ROOT + "/kernels/flash_attention/scenarios.tsv")
    if a.ladder:
        return ladder(build, a.nvcc, scenarios)
    key = lambda s: tuple(s[k] for k in ("dtype", "head_dim", "heads_q", "heads_kv", "batch", "seqlen", "causal"))
    measured = {key(r): float(r["ms"]) for r in rows(ROOT + "/docs/results/fa_hopper_h200.tsv")}
    with tempfile.TemporaryDirectory() as folder:
        build_hopper(build, a.nvcc, folder + "/hopper")
        hopper = count(build, folder + "/hopper", "sm_90a", scenarios, folder)
        blackwell = count(build, build + "/tests/flash_scenarios", "sm_100a", scenarios, folder)
    commit = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h", "--", "kernels/flash_attention/*.cu*"], capture_output=True, text=True).stdout.strip()
    date = subprocess.run(["date", "-u", "+%Y-%m-%d"], capture_output=True, text=True).stdout.strip()
    table, ratios, by = [], [], {}
    for s in scenarios:
        h, h_bound, _ = modelled("sm_90a", s, hopper)
        b, b_bound, tensor = modelled("sm_100a", s, blackwell)
        ratio = h / measured[key(s)]
        ratios.append(ratio)
        by.setdefault((s["head_dim"], s["causal"]), []).append(ratio)
        table.append("\t".join(key(s)) + f"\t{b:.4f}\t{tflops(s, b):.0f}\t{b_bound}\t{tensor:.2f}\t{h:.4f}\t{measured[key(s)]:.4f}\t{ratio:.3f}\t{h_bound}")
    print("# MODELLED, not measured: flash_attention_forward_sm100 on a B200 by the emulated device's model; the last four columns: the same model for the Hopper")
    print(f"# kernel beside its measured time (docs/results/fa_hopper_h200.tsv).  {date}, kernels of commit {commit}; command: tests/blackwell/model.py BUILD")
    print("# FlashAttention-4's published forward figures on a B200 (its own kernel, measured by its authors): up to 1613 TFLOP/s, 71 % of peak")
    print(summary("Hopper, modelled over measured, all", ratios))
    for (d, c), v in sorted(by.items(), key=lambda x: (int(x[0][0]), x[0][1])):
        print(summary(f"Hopper, modelled over measured, D{d} {'causal' if c == '1' else 'full'}", v))
    print("dtype\thead_dim\theads_q\theads_kv\tbatch\tseqlen\tcausal\tmodelled_ms\tmodelled_tflops\tbound\ttensor_share\thopper_modelled_ms\thopper_measured_ms\thopper_ratio\thopper_bound")
    print("\n".join(table))


sys.exit(main())
