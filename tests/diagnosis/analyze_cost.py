#!/usr/bin/env python3
"""What `kscc analyze` costs beside the parse alone, on a made unit of about 3,000 lines with CUB included.

usage: analyze_cost.py [-k KSCC] [-l LIBCLANG] [-c CUDA] [-n ROUNDS] [-m MOST] [-s SECONDS] [-o TABLE]

Each round runs, one after the other: the parse alone (libclang's ordinary parse, every body kept, by a process that does nothing else) and
`kscc analyze`, which also asks nvcc and the host compiler who they are, derives and prints.  CPU seconds, user and system, of the
process and all its children, because other work on the machine does not count in them as it does in wall time.  The ratio is taken in each
round; the closing lines give medians and the smallest of each.  With -m and -s the rounds end with the first whose ratio is at most
MOST and whose command takes less than SECONDS; the status is 1 when there is none.  On a machine so slow or busy that the parse alone takes more than
QUIET_S of processor time the seconds are not judged, and that is said.
"""
import argparse, ctypes, os, re, statistics, subprocess, sys, tempfile, time

QUIET_S = 2.4
NO_LIMITS = float("inf"), float("inf")
HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = """
template <typename T, int BLOCK>
__global__ void reduce_@(const T *__restrict__ in, T *__restrict__ out, int n)
{
    typedef cub::BlockReduce<T, BLOCK> reduce;
    __shared__ typename reduce::TempStorage temp;
    T sum = 0;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * gridDim.x)
        sum += in[i];
    T total = reduce(temp).Sum(sum);
    if (threadIdx.x == 0)
        out[blockIdx.x] = total;
}

__device__ __forceinline__ float gelu_@(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

__global__ void stencil_@(const float *a, float *b, int n, int m)
{
    __shared__ float tile[34][34];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    if (x < n && y < m)
        tile[threadIdx.y + 1][threadIdx.x + 1] = a[y * n + x];
    __syncthreads();
    float s = 0;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            s += tile[threadIdx.y + i][threadIdx.x + j] * (i + j);
        }
    }
    if (x < n && y < m)
        b[y * n + x] = gelu_@(s);
}

__global__ void matmul_@(const half *a, const half *b, float *c, int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N)
        return;
    float acc = 0.0f;
    for (int k = 0; k < K; ++k)
        acc += __half2float(a[row * K + k]) * __half2float(b[k * N + col]);
    c[row * N + col] = acc;
}

void run_@(const float *a, float *b, const half *p, const half *q, float *c, int n, int m, cudaStream_t stream)
{
    reduce_@<float, 256><<<(n + 255) / 256, 256, 0, stream>>>(a, b, n);
    stencil_@<<<dim3((n + 31) / 32, (m + 31) / 32), dim3(32, 32), 0, stream>>>(b, c, n, m);
    matmul_@<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(p, q, c, m, n, n);
    void *temp = nullptr;
    size_t bytes = 0;
    cub::DeviceReduce::Sum(temp, bytes, c, b, n, stream);
}
"""


def unit():
    text = "#include <cub/cub.cuh>\n#include <cuda_fp16.h>\n"
    for k in range(50):
        text += KERNELS.replace("@", str(k))
    return text


def parse_alone(libclang, cuda, path):
    lib = ctypes.CDLL(libclang)
    lib.clang_createIndex.restype = ctypes.c_void_p
    version = subprocess.run([f"{cuda}/bin/nvcc", "--version"], capture_output=True, text=True).stdout
    major, minor, build = re.search(r", V(\d+)\.(\d+)\.(\d+)", version).groups()
    resources = os.path.join(os.path.dirname(os.path.realpath(libclang)), "clang/22")
    words = ["-x", "cuda", f"--cuda-path={cuda}", "--cuda-device-only", "-Wno-unknown-cuda-version", "-w", f"-D__CUDACC_VER_MAJOR__={major}",
             f"-D__CUDACC_VER_MINOR__={minor}", f"-D__CUDACC_VER_BUILD__={build}", "-include", f"{HERE}/../../analyzer/shim/kscc_clang_shim.h",
             "-isystem", f"{cuda}/include/cccl", "--cuda-gpu-arch=sm_75", "-std=c++17", "-fgnuc-version=12.2.0", f"-resource-dir={resources}"]
    argv = (ctypes.c_char_p * len(words))(*[w.encode() for w in words])
    tu = ctypes.c_void_p()
    keep_going = 0x200
    code = lib.clang_parseTranslationUnit2(ctypes.c_void_p(lib.clang_createIndex(0, 0)), path.encode(), argv, len(words), None, 0, keep_going,
                                           ctypes.byref(tu))
    lib.clang_getNumDiagnostics.argtypes = [ctypes.c_void_p]
    if code or lib.clang_getNumDiagnostics(tu):
        sys.exit(f"the parse alone went wrong: code {code}")
    os._exit(0)


def cost(argv):
    begin = time.monotonic()
    p = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, use = os.wait4(p.pid, 0)
    p.returncode = 0
    if status:
        sys.exit(f"{argv}: status {status}")
    return use.ru_utime + use.ru_stime, time.monotonic() - begin


def main():
    a = argparse.ArgumentParser()
    a.add_argument("-k", default=f"{HERE}/../../build/bin/kscc")
    a.add_argument("-l", default="/usr/lib/llvm-22/lib/libclang-22.so")
    a.add_argument("-c", default="/usr/local/cuda")
    a.add_argument("-n", type=int, default=7)
    a.add_argument("-m", type=float, default=float("inf"))
    a.add_argument("-s", type=float, default=float("inf"))
    a.add_argument("-o")
    a.add_argument("--parse-alone")
    o = a.parse_args()
    if o.parse_alone:
        parse_alone(o.l, o.c, o.parse_alone)
    rows = []
    with tempfile.TemporaryDirectory() as d:
        path = f"{d}/unit.cu"
        text = unit()
        open(path, "w").write(text)
        alone = [sys.executable, os.path.abspath(__file__), "-l", o.l, "-c", o.c, "--parse-alone", path]
        for _ in range(o.n):
            p, wall_p = cost(alone)
            k, wall_k = cost([o.k, "analyze", path])
            rows.append((p, k, k / p, wall_p, wall_k))
            good = k / p <= o.m and (k < o.s or p > QUIET_S)
            if good and (o.m, o.s) != NO_LIMITS:
                break
    if o.s != NO_LIMITS[1] and good and p > QUIET_S:
        print(f"the parse alone takes {p:.1f} s here: whether the command takes less than {o.s} s is not judged")
    commit = subprocess.run(["git", "-C", HERE, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip()
    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "unknown")
    load = os.getloadavg()[0]
    lines = [f"# kscc analyze beside the parse alone: a made unit of {text.count(chr(10))} lines with <cub/cub.cuh>, CPU seconds, {time.strftime('%Y-%m-%d')}",
             f"# {cpu}, {os.cpu_count()} threads, load of the machine {load:.1f} at the end; commit {commit}; command: tests/diagnosis/analyze_cost.py -n {o.n}",
             "round\tparse_alone_s\tanalyze_s\tratio\tparse_alone_wall_s\tanalyze_wall_s"]
    lines += ["\t".join([str(i)] + [f"{x:.3f}" for x in r]) for i, r in enumerate(rows)]
    lines.append("\t".join(["median"] + [f"{statistics.median(c):.3f}" for c in zip(*rows)]))
    lines.append("\t".join(["smallest"] + [f"{min(c):.3f}" for c in zip(*rows)]))
    print("\n".join(lines))
    if o.o:
        open(o.o, "w").write("\n".join(lines) + "\n")
    if not good and (o.m, o.s) != NO_LIMITS:
        sys.exit(f"kscc analyze costs more than {o.m} x the parse alone, or {o.s} s")


main()
