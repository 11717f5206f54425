#!/usr/bin/env python3
"""Writes one self-contained .cu of the Hopper kernel for kscc try: its own headers pasted in, one entry with a contract (bf16, head_dim 64, causal).

    unit.py [--small] CONFIGURATION >flash.cu          CONFIGURATION: fa_config's arguments after CAUSAL (../layout.cuh)

--small: a domain and a timing point that the emulated device can run.

What differs from the kernel as it ships, because of what the harness takes:
- the entry launches by <<< >>>, where the analyzer sees it, and so without programmatic launch;
- the counter of tiles is scratch memory of the caller, set to zero by every call, not module memory (no state between calls);
- fa_limit is a structure's constant and no variable template, which nvcc makes a variable of the device.
Every replacement has to find its text, or this fails.
"""
import os, re, sys

ROOT = os.path.dirname(os.path.abspath(__file__)) + "/../../../"


def paste(path, pasted, changed):
    """A header with those it includes, each once; `changed`: texts instead of files."""
    if path in pasted:
        return ""
    pasted.add(path)
    out = []
    if path not in changed:
        with open(ROOT + path) as f:
            changed = {**changed, path: f.read()}
    for line in changed[path].splitlines(keepends=True):
        m = re.match(r'#include "(kernels/[^"]+)"', line)
        if m:
            out.append(paste(m.group(1), pasted, changed))
        elif line.strip() != "#pragma once":
            out.append(line)
    return "".join(out)


def replace(text, begin, end, by):
    """The part of text from `begin` to the end of `end` becomes `by`."""
    i = text.index(begin)
    j = text.index(end, i + len(begin)) + len(end)
    return text[:i] + by + text[j:]


def kernel(headers, changed={}):
    pasted = {"kernels/flash_attention/counter.cuh"}  # the entry has a counter of its own
    t = "".join(paste("kernels/flash_attention/" + h, pasted, changed) for h in headers)
    t = replace(t, "static cudaError_t fa_launch_as(", "cudaStream_t stream)",
                "static cudaError_t fa_prepare(void (*kernel)(fa_params), int major, const struct flash_attention_args *a, fa_params *ret,\n"
                "                              int *ret_grid)")
    t = replace(t, "        return fa_launch_plain<typename C::T, C::D>(a,", "\n", "        return cudaErrorInvalidValue;\n")
    t = replace(t, "    int grid;\n", "        return e;\n", "")
    t = replace(t, "    cudaLaunchAttribute early = {};", "    return cudaLaunchKernelEx(&config, kernel, p);",
                "    *ret = p;\n    *ret_grid = s->tiles < sm_count ? s->tiles : sm_count;\n    return cudaSuccess;")
    if "launch.cuh" in headers:
        t = replace(t, "/* One instance of the kernel. */\ntemplate <class C> static cudaError_t fa_launch(", "\n}\n", "")
    t = replace(t, "template <typename T, int D> static cudaError_t fa_launch_plain(", "\n}\n", "")
    t = replace(t, "static constexpr unsigned int FA_COUNTERS", "fa_counters[FA_COUNTERS];\n", "")
    t = replace(t, "    unsigned int counter;", "\n", "    fa_counter *counter;\n")
    t = replace(t, "    fa_counter *counter = &fa_counters[s.counter]", "\n", "    fa_counter *counter = s.counter;\n")
    if "FA_LIMIT" in t:
        t = replace(t, "template <typename T> static __device__ constexpr float FA_LIMIT", "FA_LIMIT<__half> = 8192.0f;\n",
                "template <typename T> struct fa_limit {\n    static constexpr float value = 1.0e18f; /* bf16 */\n};\n")
    return t.replace("FA_LIMIT<T>", "fa_limit<T>::value").rstrip()


ENTRY = """

/* ../layout.cuh has what the arguments mean. */
struct attention_config : fa_config<__nv_bfloat16, 64, true, @CONFIGURATION@> {};

// kscc: entry   attention_causal_64
// kscc: dims    @DIMS@ G=1|4 H=K*G
// kscc: in      q       : bf16[B,S,H,64] ~ normal(0,1)
// kscc: in      k, v    : bf16[B,S,K,64] ~ normal(0,1)
// kscc: out     o       : bf16[B,S,H,64]  rtol=1e-2 atol=1e-2
// kscc: out     lse     : float[B,H,S]    rtol=1e-4 atol=1e-4
// kscc: scratch counter : uint32[2]
// kscc: time    @TIME@
cudaError_t attention_causal_64(const __nv_bfloat16 *q, const __nv_bfloat16 *k, const __nv_bfloat16 *v, __nv_bfloat16 *o, float *lse,
                                unsigned int *counter, int B, int S, int K, int G, cudaStream_t stream)
{
    int H = K * G, grid;
    struct flash_attention_strides wide = {(int64_t)S * H * 64, (int64_t)H * 64, 64}, narrow = {(int64_t)S * K * 64, (int64_t)K * 64, 64};
    struct flash_attention_args args = {q, k, v, o, lse, wide, narrow, narrow, wide, B, S, S, H, K, 64, FLASH_ATTENTION_BF16, 1, 0.125f};
    fa_params params;
    cudaError_t e = fa_prepare<attention_config>(fa_forward<attention_config>, 9, &args, &params, &grid);
    if (e != cudaSuccess)
        return e;
    params.shape.counter = (fa_counter *)counter;
    if ((e = cudaMemsetAsync(counter, 0, sizeof(fa_counter), stream)) != cudaSuccess)
        return e;
    fa_forward<attention_config><<<grid, attention_config::THREADS, attention_config::SHARED_BYTES, stream>>>(params);
    return cudaGetLastError();
}"""


def main():
    small = sys.argv[1] == "--small"
    dims, time = ("B=1 S=1..160 K=1..2", "B=1 S=128 K=1 G=1") if small else \
                 ("B=1..32 S=1..2048 K=1..32", "B=16 S=1024 K=32 G=1 ; B=8 S=2048 K=32 G=1")
    print(kernel(["launch.cuh"]) + ENTRY.replace("@CONFIGURATION@", sys.argv[-1]).replace("@DIMS@", dims).replace("@TIME@", time))


if __name__ == "__main__":
    main()
