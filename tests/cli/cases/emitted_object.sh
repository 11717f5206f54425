# The emitted object links like the baseline's, exports the same symbols, and computes the same on the emulated device,
# inside the proved domain (candidate) and outside it (original).  The text is one of an editor of Windows'.
light
unit; good_candidate 1
sed -i 's/n=1..65536/n=1..4096/; s/n=65536/n=4096/' unit.cu cand/1.cu
sed -i '1s/^/\xef\xbb\xbf/; s/$/\r/' unit.cu cand/1.cu
agent --kscc-agent=file:cand -O2 -arch=sm_90a -MD -MF unit.d -c unit.cu -o unit.o
expect_err "emitted unit.o"
"$REAL_NVCC" -O2 -arch=sm_90a -MD -MF want.d -c unit.cu -o unit.o.base
sed 's/unit\.o\.base/unit.o/' want.d >want2.d
expect_same unit.d want2.d
exports() { nm -g --defined-only "$1" | awk '{print $3}' | grep -v __kscc_ | sort; }
exports unit.o >a; exports unit.o.base >b
expect_same a b
cat >main.cu <<'F'
#include <cstdio>
extern "C" void scale_shift(const float *x, float *y, int n, cudaStream_t stream);
static int check(int n, int offset)
{
    float *x, *y, *h = new float[n + 64];
    for (int i = 0; i < n + 64; i++)
        h[i] = i;
    cudaMalloc(&x, (n + 64) * 4);
    cudaMalloc(&y, (n + 64) * 4);
    cudaMemcpy(x, h, (n + 64) * 4, cudaMemcpyHostToDevice);
    scale_shift(x + offset, y, n, 0);
    if (cudaDeviceSynchronize() != cudaSuccess || cudaMemcpy(h, y, n * 4, cudaMemcpyDeviceToHost) != cudaSuccess)
        return 1;
    int bad = 0;
    for (int i = 0; i < n; i++)
        bad += h[i] != (i + offset) * 3.0f + 1.0f;
    delete[] h;
    return bad;
}
int main() { int bad = check(1000, 0) + check(5000, 0) + check(1000, 1); printf("%d\n", bad); return bad != 0; }
F
"$REAL_NVCC" -O2 -arch=sm_90a -cudart shared main.cu unit.o -o program
expect_status 0
run timeout 120 env LD_PRELOAD="$PROGRAM_PRELOAD" "$KSCC" run --kscc-device=emulated:sm_90a -- ./program
expect_status 0
[ "$(cat out)" = 0 ] || { fail "wrong answers: $(cat out)"; cat err; }
