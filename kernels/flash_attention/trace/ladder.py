#!/usr/bin/env python3
"""The ladder of the Blackwell kernel: its versions, made of the kernel as it ships by taking ideas out of it, or putting in what is tried.

    ladder.py list                     numbers, names and layers of the ideas
    ladder.py unit [--small] N         one self-contained .cu with the first N ideas, with a contract, for kscc try (bf16, head_dim 64, causal)
    ladder.py tree N DIRECTORY         a copy of kernels/ with the first N ideas
N+I instead of N: the Ith trial on top

An idea is pairs of texts, without and with it; each text has to be found once, or this fails: whoever changes the kernel changes the ladder.
"""
import os, re, shutil, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import unit

FA, PTX = "kernels/flash_attention/", "kernels/ptx/"
LAYOUT, SOFTMAX, CORRECT, ISSUE = (FA + "blackwell_%s.cuh" % n for n in ("layout", "softmax", "correct", "issue"))

P_SHARED = """        /* row() of 128 keys, in tiles of 64, swizzled as the product reads them */
        uint32_t row_at = sh.p(fb_unit<C>(w, units - 1).place) + FROM / 64 * C::ROWS * 128 + row() * 128;
#pragma unroll
        for (int i = 0; i < 4; i++)
            ks_store_shared(row_at + ((FROM % 64 / 8 + i) ^ (row() & 7)) * 16,
                            make_int4(p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3]));
"""
O_DIRECT = """    /* O / l of a row block to global memory, a row a thread. */
    __device__ __forceinline__ void finish(const fa_rows &rows, int batch, int w)
    {
        ks_mbarrier_wait(sh.l_full(w), tiles[w]++ & 1);
        float inverse = read(sh.inverse(w) + 4 * row());
        arrive(sh.l_empty(w));
        wait_o(w);
        int at = rows.row + row();
        T *to = (T *)params.o + (int64_t)batch * params.o_batch + (int64_t)rows.head * params.o_head + (int64_t)at * params.o_row;
#pragma unroll 1
        for (int c = 0; c < C::D; c += 32)
            stage(w, c, inverse, to + c, at < params.shape.seqlen_q);
        ks_tmem_before_sync();
        arrive(sh.o_ready(w));
    }
    __device__ __forceinline__ void stage(int w, int c, float inverse, T *to, bool inside)
    {
        float o[32];
        ks_tmem_load_x32(o, lanes + w * C::D + c);
        ks_tmem_wait_load();
        ks_tmem_pin(o);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int v[4];
#pragma unroll
            for (int j = 0; j < 4; j++)
                v[j] = ks_pack<T>(o[8 * i + 2 * j] * inverse, o[8 * i + 2 * j + 1] * inverse);
            if (inside)
                *(int4 *)(to + 8 * i) = make_int4(v[0], v[1], v[2], v[3]);
        }
    }
"""


def between(begin, end):
    """The part of the kernel as it ships from `begin` up to `end`."""
    def find(text):
        i = text.index(begin)
        return text[i:text.index(end, i)]
    return find


def read(path):
    with open(unit.ROOT + path) as f:
        return f.read()


# name, layer, predicted gain over the version before at the trials' size, why; then (file, without, with)
IDEAS = [
    ("P stays in tensor memory", "data-movement", 1.05,
     "P goes out to shared memory by 16-byte stores and comes back as the operand of the second product; tensor memory holds it where S was",
     [(LAYOUT, "STAGES * SLOT_BYTES + ROWS * BLOCK_N * 2 * AHEAD", "STAGES * SLOT_BYTES"),
      (LAYOUT, """    __device__ __forceinline__ uint32_t p(int b) const
    {
        return kv(C::STAGES) + b * C::ROWS * C::BLOCK_N * 2;
    }
    /* a number a row: what O is to be multiplied by before""", "    /* a number a row: what O is to be multiplied by before"),
      (SOFTMAX, P_SHARED, "        ks_tmem_store_x16(to + FROM / 2, p);\n"),
      (SOFTMAX, "        ks_fence_async();\n        ks_tmem_before_sync();\n", "        ks_tmem_wait_store();\n        ks_tmem_before_sync();\n"),
      (SOFTMAX, '#include "kernels/ptx/tcgen05.cuh"\n#include "kernels/ptx/tma.cuh"\n', '#include "kernels/ptx/tcgen05.cuh"\n'),
      (ISSUE, """                ks_tcgen_mma(tmem + C::O_COLUMN + w * C::D + part * C::PART,
                             ks_tcgen_descriptor(sh.p(unit.place), 16, 1024) + (i / 4 * C::ROWS * 128 + i % 4 * 32) / 16,
                             b + i * 2048 / 16, how, !first || i > 0);
""", """                ks_tcgen_mma_ts(tmem + C::O_COLUMN + w * C::D + part * C::PART, tmem + unit.place * C::BLOCK_N + i * 8,
                                b + i * 2048 / 16, how, !first || i > 0);
""")]),
    ("O leaves through shared memory and TMA", "memory-access", 1.05,
     "a thread has a row of O, so every 16-byte store of a warp touches 32 lines; staged in shared memory a copy writes whole lines",
     [(LAYOUT, "STAGES * SLOT_BYTES;\n", "STAGES * SLOT_BYTES + SLOT_BYTES;\n"),
      (CORRECT, O_DIRECT, between("    /* O / l of a row block to global memory, by way of", "\n    __device__ __forceinline__ void run()")),
      (CORRECT, """        }
    }
};
""", """        }
        if (lane() == 0)
            ks_tma_wait_read(); /* shared memory must outlive the copies */
    }
};
""")]),
    ("S is computed ahead, at a second place", "synchronization", 1.10,
     "softmax waits for S and the tensor cores wait for P; with two places the product of the next block runs beside the softmax of this one",
     [(LAYOUT, "AHEAD = 1;", "AHEAD = 2 / WARPGROUPS;"),
      (LAYOUT, "place(w), parity(before & 1)", "place(C::WARPGROUPS == 2 ? w : before & 1), parity(C::WARPGROUPS == 2 ? before & 1 : before >> 1 & 1)")]),
    ("two row blocks a tile, in ping-pong", "parallel-decomposition", 1.15,
     "a copied block of K and V serves 128 rows only; two row blocks with a softmax warpgroup each halve what is copied and work beside each other",
     [(LAYOUT, "WARPGROUPS = 1;", "WARPGROUPS = D <= 128 ? 2 : 1;")]),
    ("persistent CTAs that draw tiles", "parallel-decomposition", 1.00,
     "every tile pays for barriers, tensor memory and its first copies; at this size there are fewer tiles than multiprocessors, longer calls have more",
     [(FA + "call.cuh", "    if (false)\n        fa_cut_tail", "    if (!C::CAUSAL)\n        fa_cut_tail"),
      (FA + "counter.cuh", "*ret_grid = s->tiles;", "*ret_grid = s->tiles < sm_count ? s->tiles : sm_count;")]),
    ("O is rescaled only when the maximum moved by 2^8", "compute", 1.10,
     "O is read, multiplied and written for every block of keys although the maximum of a row seldom moves by enough to matter",
     [(SOFTMAX, "FB_SLACK = 0.0f", "FB_SLACK = 8.0f"),
      (CORRECT, "            rescale(w, factor);\n", "            if (__any_sync(0xffffffff, factor != 1))\n                rescale(w, factor);\n")]),
    ("arithmetic in pairs", "compute", 1.10,
     "scaling, sums and rescaling take an instruction a number; sm_100 has them for two at a time",
     [(PTX + "packed.cuh", "    return make_float2(a.x + b.x, a.y + b.y);\n",
       '    uint64_t r;\n    asm("add.rn.f32x2 %0, %1, %2;" : "=l"(r) : "l"(ks_pair(a)), "l"(ks_pair(b)));\n    return ks_unpair(r);\n'),
      (PTX + "packed.cuh", "    return make_float2(__fmaf_rn(a.x, b.x, c.x), __fmaf_rn(a.y, b.y, c.y));\n",
       '    uint64_t r;\n    asm("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(r) : "l"(ks_pair(a)), "l"(ks_pair(b)), "l"(ks_pair(c)));\n    return ks_unpair(r);\n'),
      (PTX + "packed.cuh", "    return make_float2(a.x * b.x, a.y * b.y);\n",
       '    uint64_t r;\n    asm("mul.rn.f32x2 %0, %1, %2;" : "=l"(r) : "l"(ks_pair(a)), "l"(ks_pair(b)));\n    return ks_unpair(r);\n')]),
    ("the mask only where the diagonal is", "compute", 1.15,
     "a comparison and a selection a score in every block, though only the blocks on the diagonal and the last one hide anything",
     [(SOFTMAX, "for (; n >= 0; n--)\n                unit<true>", "for (; n >= rows.mask_from; n--)\n                unit<true>")]),
    ("some exponentials by polynomial", "compute", 1.10,
     "MUFU takes twice as long as both products at head_dim 64: 6 of 16 exponentials on the FMA pipes (4 at 128, where it is even)",
     [(FA + "blackwell.cu", "fb_config<T, 64, CAUSAL, 4, 1, 0>", "fb_config<T, 64, CAUSAL, 4, 1, 6>"),
      (FA + "blackwell.cu", "fb_config<T, 128, CAUSAL, 4, 1, 0>", "fb_config<T, 128, CAUSAL, 4, 1, 4>")]),
    ("longer rings: 8 slots of K and V, Q of two tiles", "synchronization", 1.00,
     "at head_dim 64 half of shared memory is empty, and the first S of a tile waits for its Q; the model has no term for that, so nothing modelled",
     [(FA + "blackwell.cu", "fb_config<T, 64, CAUSAL, 4, 1, 6>", "fb_config<T, 64, CAUSAL, 8, 2, 6>")]),
]
# What was tried on top of all of them, by pairs of texts before and after.
MAX3 = [(PTX + "packed.cuh", "/* max.NaN: NaN where either is */", """/* The largest of three that are not NaN. */
static __device__ __forceinline__ float ks_max3(float a, float b, float c)
{
    float r;
    asm("max.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(c));
    return r;
}
/* max.NaN: NaN where either is */"""),
        (SOFTMAX, """        for (int i = 4; i < N; i++)
            top[i % 4] = fmaxf(top[i % 4], s[i]);
        top[0] = fmaxf(fmaxf(top[0], top[1]), fmaxf(top[2], top[3])) * params.scale_log2;
""", """        for (int i = 4; i < N; i += 2)
            top[i / 2 % 4] = ks_max3(top[i / 2 % 4], s[i], s[i + 1]);
        top[0] = ks_max3(top[0], top[1], fmaxf(top[2], top[3])) * params.scale_log2;
""")]
SKIP = [(SOFTMAX, """    template <bool MASKED> __device__ __forceinline__ void unit(bool first, int limit)
    {
        fb_unit<C> u(w, units++);
        uint32_t at = lanes + u.place * N;
""", """    /* The same of a quarter or none: no row of this warp sees anything of it. */
    template <int FROM, bool MASKED>
    __device__ __forceinline__ void quarter_to(int most, float (&s)[N], float2 scale, float2 minus_m, float2 (&sum)[2], uint32_t to)
    {
        if (!MASKED || FROM < most) {
            quarter<FROM, MASKED>(s, scale, minus_m, sum, to);
        } else {
            uint32_t none[16] = {};
            ks_tmem_store_x16(to + FROM / 2, none);
        }
    }

    /* limit: the row sees so many columns; of the lanes of a warp every one as many as the one before, or more. */
    template <bool MASKED> __device__ __forceinline__ void unit(bool first, int limit)
    {
        fb_unit<C> u(w, units++);
        uint32_t at = lanes + u.place * N;
        int least = MASKED ? __shfl_sync(0xffffffff, limit, 0) : N, most = MASKED ? __shfl_sync(0xffffffff, limit, 31) : N;
"""),
        (SOFTMAX, """        if (MASKED) {
#pragma unroll
            for (int i = 0; i < N; i++)
                s[i] = i < limit ? s[i] : -INFINITY;
        }
        float top[4] = {s[0], s[1], s[2], s[3]};
#pragma unroll
        for (int i = 4; i < N; i += 2)
            top[i / 2 % 4] = ks_max3(top[i / 2 % 4], s[i], s[i + 1]);
""", """        float top[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
#pragma unroll
        for (int from = 0; from < N; from += 32) {
            if (from >= most)
                break;
            if (from + 32 > least) {
#pragma unroll
                for (int i = from; i < from + 32; i++)
                    s[i] = i < limit ? s[i] : -INFINITY;
            }
#pragma unroll
            for (int i = from; i < from + 32; i += 2)
                top[i / 2 % 4] = ks_max3(top[i / 2 % 4], s[i], s[i + 1]);
        }
""")] + [(SOFTMAX, "        quarter<%d, MASKED>(s, " % c, "        quarter_to<%d, MASKED>(most, s, " % c) for c in (0, 32, 64, 96)]


def soft(count):
    return [(FA + "blackwell.cu", "fb_config<T, 64, CAUSAL, 8, 2, 6>", "fb_config<T, 64, CAUSAL, 8, 2, %d>" % count)]


TRIALS = [
    ("maxima of three at a time", "compute", 1.05,
     "127 maxima a row and block; max with three operands takes half of them", MAX3),
    ("quarters behind the diagonal are left out", "compute", 1.05,
     "in a block on the diagonal a warp masks, exponentiates and adds up columns that none of its 32 rows sees: three eighths of all", MAX3 + SKIP),
    ("half of the exponentials by polynomial", "compute", 1.02,
     "with fewer maxima to issue MUFU is what is waited for again", MAX3 + SKIP + soft(8)),
    ("all exponentials by polynomial", "compute", 1.05,
     "MUFU would be idle, and FMA pipes have eight times its rate", MAX3 + SKIP + soft(16)),
    ("no fence before P is announced", "synchronization", 1.01,
     "the wait for the stores is enough; a fence a block less", MAX3 + SKIP + [
         (SOFTMAX, "        ks_tmem_before_sync();\n        arrive(sh.p_full(u.place));\n", "        arrive(sh.p_full(u.place));\n")]),
]


def replace(files, path, old, new, name):
    if files[path].count(old) != 1:
        raise SystemExit("ladder.py: '%s': found %d times in %s, not once:\n%s" % (name, files[path].count(old), path, old))
    files[path] = files[path].replace(old, new)


def version(count, trial=None):
    """The files that ideas change, with the first `count` of them and those of a trial."""
    pairs = [p for idea in IDEAS for p in idea[4]] + [p for t in TRIALS for p in t[4]]
    files = {path: read(path) for path, _, _ in pairs}
    for name, _, _, _, pairs in reversed(IDEAS[count:]):
        for path, without, shipped in reversed(pairs):
            replace(files, path, shipped(read(path)) if callable(shipped) else shipped, without, name)
    for path, before, after in TRIALS[trial][4] if trial is not None else []:
        replace(files, path, before, after, TRIALS[trial][0])
    return files


def write_unit(files, small):
    persistent = "s->tiles < sm_count ? s->tiles : sm_count;" in files[FA + "counter.cuh"]
    text = unit.kernel(["blackwell.cuh", "call.cuh"], files)
    if not persistent:
        text = unit.replace(text, "    *ret_grid = ", "\n", "    *ret_grid = s->tiles;\n")
    text = unit.replace(text, "template <typename T> static __device__ constexpr uint32_t ks_tcgen_is_bf16", "ks_tcgen_is_bf16<__nv_bfloat16> = 1;\n",
                        "struct ks_tcgen_is_bf16_unit {\n    static constexpr uint32_t value = 1; /* the entry's type */\n};\n")
    text = text.replace("ks_tcgen_is_bf16<T>", "ks_tcgen_is_bf16_unit::value")
    choice = re.search(r"fb_config<T, 64, CAUSAL, (.*)> \{", files[FA + "blackwell.cu"]).group(1)
    entry = unit.ENTRY.replace("fa_config<__nv_bfloat16, 64, true, @CONFIGURATION@>", "fb_config<__nv_bfloat16, 64, true, %s>" % choice)
    entry = entry.replace("fa_forward<", "fb_forward<").replace("<attention_config>, 9,", "<attention_config>, 10,")
    dims, time = ("B=1 S=1..320 K=1..2", "B=1 S=256 K=1 G=1") if small else ("B=1 S=1..2048 K=1..18", "B=1 S=2048 K=18 G=1")
    print(text + entry.replace("@DIMS@", dims).replace("@TIME@", time))


def main(words):
    small = "--small" in words
    words = [w for w in words if w != "--small"]
    if words[:1] == ["list"]:
        for i, (name, layer, predicted, why, _) in enumerate(IDEAS, 1):
            print("%d\t%s\t%.2f\t%s\t%s" % (i, layer, predicted, name, why))
        for i, (name, layer, predicted, why, _) in enumerate(TRIALS, 1):
            print("%d+%d\t%s\t%.2f\t%s\t%s" % (len(IDEAS), i, layer, predicted, name, why))
        return 0
    count, _, trial = words[1].partition("+")
    files = version(int(count), int(trial) - 1 if trial else None)
    if words[0] == "unit":
        write_unit(files, small)
        return 0
    shutil.copytree(unit.ROOT + "kernels", words[2] + "/kernels")
    for path, text in files.items():
        with open(os.path.join(words[2], path), "w") as f:
            f.write(text)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("list", "unit", "tree"):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
