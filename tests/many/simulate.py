"""How many GPUs one parent can keep busy: a simulation with recorded trial times.  usage: simulate.py [--check]

Trials: the rows of docs/results/bench_harness_h200.txt (an H200: seconds of nvcc, of the GPU, of everything else of the parent).  A trial
builds on one of the parent's processors, waits for a GPU and holds it, and the rest is the parent's again: its share beside the GPU
(inputs, comparisons) before, the statistics after.  Kernels are searched side by side, each 24 trials, one after the other in each
kernel, because the next text depends on the last verdict.  PARENT_S is what a trial through another process costs the parent beyond the
recorded rest (steps, frames; docs/results/many_sessions.tsv).  Nobody is modelled who thinks: an agent's time only makes GPUs emptier.

--check: known answers: one kernel, one of each, enough of everything, and that work is conserved."""
import heapq, os, random, sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TRIALS = 24

def recorded():
    rows = []
    for line in open(os.path.join(ROOT, "docs/results/bench_harness_h200.txt")):
        w = line.split()
        if len(w) > 8 and w[0].isdigit(): rows.append(tuple(float(x) for x in (w[2], w[3], w[5])))
    return rows

def parent_s():
    """Median of the table's parent_cpu_s_per_trial."""
    rows = [l.split("\t") for l in open(os.path.join(ROOT, "docs/results/many_sessions.tsv")) if l[0].isdigit()]
    values = sorted(float(r[-1]) for r in rows)
    return values[len(values) // 2]

class Pool:
    """n equal servers, first come first served."""
    def __init__(self, n): self.free, self.waiting, self.busy_s = n, [], 0.0

def simulate(gpus, kernels, processors, times, extra_s, trials=TRIALS, seed=1):
    """(wall seconds, share of the GPUs' time in use, share of the processors')"""
    rnd = random.Random(seed)
    cpu, gpu = Pool(processors), Pool(gpus)
    events, order, now = [], 0, 0.0
    def go(pool, length, then):
        nonlocal order
        if pool.free == 0:
            pool.waiting.append((length, then))
            return
        pool.free -= 1
        pool.busy_s += length
        order += 1
        heapq.heappush(events, (now + length, order, pool, then))
    def trial(left):
        if left == 0: return
        nvcc, device, rest = rnd.choice(times)
        go(cpu, nvcc, lambda: go(gpu, device, lambda: go(cpu, rest + extra_s, lambda: trial(left - 1))))
    for _ in range(kernels): trial(trials)
    heads = {id(cpu): 0, id(gpu): 0}
    while events:
        now, _, pool, then = heapq.heappop(events)
        pool.free += 1
        head = heads[id(pool)]
        if head < len(pool.waiting):
            heads[id(pool)] += 1
            length, next_then = pool.waiting[head]
            pool.waiting[head] = None
            go(pool, length, next_then)
        then()
    return now, gpu.busy_s / (gpus * now), cpu.busy_s / (processors * now)

def check():
    ok = lambda a, b: abs(a - b) < 1e-6 or sys.exit(f"{a} is not {b}")
    one = [(1.0, 0.5, 0.25)]
    ok(simulate(1, 1, 1, one, 0.25, 4)[0], 8.0)                  # one after the other: 4 x (1 + 0.5 + 0.5)
    ok(simulate(9, 9, 9, one, 0.25, 4)[0], 8.0)                  # enough of everything
    wall, gpu, cpu = simulate(1, 100, 1000, one, 0, 1)           # one GPU: the first build, then the GPU alone, then the last rest
    ok(wall, 1 + 100 * 0.5 + 0.25)
    wall, gpu, cpu = simulate(1000, 100, 1, one, 0, 1)           # one processor
    ok(cpu, 1 - 0.0 / wall) if abs(cpu - 1) < 0.01 else sys.exit("an idle processor")
    ok(gpu * 1000 * wall, 50.0)                                  # work is conserved
    times = recorded()
    len(times) >= 12 and all(0.5 < n < 3 and 0.05 < g < 1 and 0.05 < r < 1 for n, g, r in times) or sys.exit("recorded times")
    print("8 passed, 0 failed")

def main():
    times, extra = recorded(), parent_s()
    mean = [sum(t[i] for t in times) / len(times) for i in range(3)]
    print(f"# tests/many/simulate.py: {len(times)} recorded trials (H200): nvcc {mean[0]:.3f} s, GPU {mean[1]:.3f} s, rest of the parent {mean[2]:.3f} s; through another process {extra:.4f} s more")
    print(f"# A GPU is kept busy by {(mean[0] + mean[2] + extra) / mean[1]:.1f} processors of the parent: {mean[0] / mean[1]:.1f} for nvcc, {(mean[2] + extra) / mean[1]:.1f} for judging.")
    print("gpus\tkernels\tprocessors\twall_s\ttrials_per_s\tgpus_busy\tprocessors_busy")
    for kernels in (100, 10000):
        for processors in (16, 128, 1024, 16384):
            for gpus in (1, 10, 100, 1000):
                if gpus > kernels: continue
                wall, gpu, cpu = simulate(gpus, kernels, processors, times, extra)
                print(gpus, kernels, processors, f"{wall:.0f}", f"{kernels * TRIALS / wall:.1f}", f"{gpu:.3f}", f"{cpu:.3f}", sep="\t", flush=True)

check() if sys.argv[1:] == ["--check"] else main()
