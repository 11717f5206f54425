# What a candidate takes from operator new, and its variables without a value, hold zeros where it was judged and in the emitted
# object alike: one that counts its calls there and means to stop working after two hundred never gets to three. And the
# compiler that builds it for emission is confined as in the trials: a wrapper around nvcc cannot write its log then.
light
unit; good_candidate 1
sed -i 's/n=1..65536/n=1..4096/; s/n=65536/n=4096/' unit.cu cand/1.cu
cat >counts <<'F'
#include <stdexcept>
#include <vector>
static __attribute__((noinline)) unsigned count(unsigned *p)
{
    asm volatile("" : "+r"(p) : : "memory");
    unsigned n = p[0] == 0x1234abcd && p[1] == ~0x1234abcdu ? p[2] : 0;
    p[0] = 0x1234abcd, p[1] = ~0x1234abcdu, p[2] = n + 1;
    asm volatile("" : : "r"(p) : "memory");
    return n;
}
static __attribute__((noinline)) unsigned in_heap()
{
    unsigned *p = (unsigned *)operator new(1000), n = count(p + 100);
    operator delete(p);
    return n;
}
static __attribute__((noinline)) unsigned on_stack()
{
    unsigned v[3];
    return count(v);
}
static __attribute__((noinline)) unsigned caught(int n)
{
    try {
        if (n > 0)
            throw std::invalid_argument("always");
    } catch (const std::invalid_argument &) {
        return 0;
    }
    return 9;
}
F
sed -i -e '/#include <cuda_runtime.h>/r counts' -e 's/^    scale<<<(n + 255)/    std::vector<int> blocks(1, (n + 255) \/ 256);\n    if (in_heap() > 2 || on_stack() > 2 || caught(n) > 2)\n        return;\n    scale<<<blocks[0] + 0 * (n + 255)/' cand/1.cu
mkdir tool
cat >tool/nvcc <<F
#!/bin/bash
echo "\$*" 2>/dev/null >>"\$(dirname "\$0")/../log"
exec $REAL_NVCC "\$@"
F
chmod +x tool/nvcc
ln -s "$(dirname "$(readlink -f "$REAL_NVCC")")/ptxas" tool/ptxas
KSCC_NVCC=$PWD/tool/nvcc agent --kscc-agent=file:cand -O2 -arch=sm_90a -c unit.cu -o unit.o
expect_status 0
expect_err "emitted unit.o"
grep -q -- '-c unit.cu -o unit.o' log || { fail "the wrapper wrote nothing"; cat log; }
if grep -E 'candidate0u?/unit' log; then fail "built for emission outside the walls"; fi
nm unit.o | grep -qE ' t __kscc_[0-9a-f]{8}_fresh_Znwm$' || { fail "operator new is not led through a function of ours"; nm unit.o; }
cat >main.cu <<'F'
#include <cstdio>
extern "C" void scale_shift(const float *x, float *y, int n, cudaStream_t stream);
int main()
{
    float *x, *y, h;
    int bad = 0;
    cudaMalloc(&x, 4000);
    cudaMalloc(&y, 4000);
    cudaMemset(x, 0, 4000);
    for (int i = 0; i < 30; i++) {
        cudaMemset(y, 0, 4000);
        scale_shift(x, y, 1000, 0);
        cudaMemcpy(&h, y + 999, 4, cudaMemcpyDeviceToHost);
        bad += h != 1.0f;
    }
    printf("%d\n", bad);
    return bad != 0;
}
F
"$REAL_NVCC" -O2 -arch=sm_90a -cudart shared main.cu unit.o -o program || fail "does not link"
run timeout 120 env LD_PRELOAD="$PROGRAM_PRELOAD" "$KSCC" run --kscc-device=emulated:sm_90a -- ./program
expect_status 0
[ "$(cat out)" = 0 ] || { fail "wrong answers: $(cat out) of 30"; cat err; }
