# A program as its own workload: recorded, searched, and put in place only when the whole of it does the same with every set of arguments.
# Its kernel is an instance of a template, whose symbol is local (of other kernels: cli.recorded).
cat >p.cu <<'F'
#include <cstdio>
#include <cstdlib>
#include <vector>
static std::vector<float> values;
namespace {
template <typename T, int STEP> __global__ void rows(const int *at, const T *weight, T *sums, int n, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < cols; k += STEP)
        sum += weight[row * cols + k];
    sums[row] = sum + (float)at[row];
}
}
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 64, cols = 64, step = argc > 2 ? atoi(argv[2]) : 5;
    FILE *in = argc > 3 ? fopen(argv[3], "r") : NULL, *out = fopen("sums.txt", "w");
    float *dx, *ds;
    int *da;
    std::vector<float> sums(n);
    std::vector<int> at(n);
    values.resize(n * cols);
    for (int i = 0; i < n * cols; i++)
        values[i] = (float)(i * 7 % 17) - 8;
    for (int i = 0; i < n; i++)
        at[i] = i * step % n;
    cudaMalloc(&dx, values.size() * 4);
    cudaMalloc(&ds, n * 4);
    cudaMalloc(&da, n * 4);
    cudaMemcpy(dx, values.data(), values.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(da, at.data(), n * 4, cudaMemcpyHostToDevice);
    cudaMemset(ds, 0, n * 4);
    rows<float, 1><<<(n + 63) / 64, 64>>>(da, dx, ds, n, cols);
    cudaMemcpy(sums.data(), ds, n * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        fprintf(out, "%f\n", sums[i]);
    printf("n %d, last %f, input %s\nelapsed %ld ns\n", n, sums[n - 1], in ? "there" : "none", random() + (long)getenv("PWD"));
    return fclose(out);
}
F
arch=(-gencode 'arch=compute_90a,code=[compute_90a,sm_90a]' -std=c++14)
"$REAL_NVCC" "${arch[@]}" -cudart shared p.cu -o p || fail "no program"
run env LD_PRELOAD="$PROGRAM_PRELOAD" "$KSCC" record -o rec -- ./p 64 5
run "$KSCC" contract p.cu --json --kscc-workload=rec
rm -f sums.txt; mkdir cand; echo there >input.txt
python3 - <<'F' || fail "no text to write a candidate from"
import json
text = json.load(open("out"))["text"]
# Right in every trial, where integers are what they were; wrong for the program: the indices are known.
body = text[text.index("    int row ="):text.index("extern \"C\" void kscc_launch")]
body = body[:body.index("\n}\n") + 3]
warp = """    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum = 0.0f;
    for (int k = lane; k < cols; k += 32)
        sum += weight[row * cols + k];
    for (int i = 16; i > 0; i /= 2)
        sum += __shfl_xor_sync(~0u, sum, i);
    if (lane == 0)
        sums[row] = sum + (float)(row * 5 % 64);
}
"""
text = text.replace(body, warp).replace("<<<dim3(1, 1, 1), dim3(64, 1, 1)", "<<<dim3(8, 1, 1), dim3(256, 1, 1)")
open("cand/1.cu", "w").write("// kscc-propose: memory-access 2 a warp a row\n" + text)
F
program() { run env LD_PRELOAD="$PROGRAM_PRELOAD" timeout 300 "$KSCC" -O-agent=trials:1 --kscc-agent=file:cand --kscc-device=emulated "${arch[@]}" p.cu -o q "$@"; }

# Other arguments, with which the same launch has other integers: the program of nvcc.
program '--kscc-args=64 5 input.txt;64 7 input.txt'
expect_status 0
grep -qE "100.0 % _ZN.*4rowsIfLi1EE" err || fail "the instance is not known: $(grep 100.0 err)"
expect_err "gate passed: kscc_launch_rows"
expect_err "with the arguments '64 7 input.txt' the program with candidates: prints something else: line 1 is 'n 64, last"
expect_err "the program of nvcc stays"
nm q | grep -q __kscc && fail "a program that is wrong was put in place"
# Arguments that it is right for: the certificate is there, nothing is searched.
program '--kscc-args=64 5 input.txt;60 7'
expect_status 0
expect_err "the same output, files and copies to the host with 2 sets of arguments"
nm q | grep -q __kscc || fail "the program has no candidate"
[ -e sums.txt ] && fail "the program wrote into the user's folder"
# A call that makes no program.
run "$KSCC" -O-agent --kscc-args=64 "${arch[@]}" -c p.cu -o p.o
expect_status 0
expect_err "--kscc-args is for calls that link a program"
