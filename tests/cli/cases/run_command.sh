# kscc run: the statuses of a shell, and why a program cannot be emulated.
light
run env LD_PRELOAD="$PROGRAM_PRELOAD" "$KSCC" run --kscc-device=emulated -- ./nonexist
expect_status 127
expect_err "cannot run './nonexist': No such file or directory"
touch plain
run env LD_PRELOAD="$PROGRAM_PRELOAD" "$KSCC" run --kscc-device=emulated -- ./plain
expect_status 126
cat >p.cu <<'F'
#include <cstdio>
__global__ void k(int *p) { *p = 42; }
int main()
{
    int *p, v = 0;
    cudaMalloc(&p, sizeof v);
    k<<<1, 1>>>(p);
    cudaError_t e = cudaMemcpy(&v, p, sizeof v, cudaMemcpyDeviceToHost);
    printf("%d %s\n", v, cudaGetErrorString(e));
    return v != 42;
}
F
"$REAL_NVCC" -arch=sm_90 -cudart shared p.cu -o shared && "$REAL_NVCC" -arch=sm_90 p.cu -o static || fail "no programs"
run env LD_PRELOAD="$PROGRAM_PRELOAD" "$KSCC" run --kscc-device=emulated -- ./shared
expect_status 0
grep -q '^42 ' out || fail "the kernel did not run"
expect_no_err "static CUDA runtime"
run env LD_PRELOAD="$PROGRAM_PRELOAD" "$KSCC" run --kscc-device=emulated -- ./static
expect_err "warning: './static' is linked with the static CUDA runtime"
expect_err "-cudart shared"
"$REAL_NVCC" -gencode arch=compute_90,code=sm_90 -cudart shared p.cu -o machine || fail "no program"
run env LD_PRELOAD="$PROGRAM_PRELOAD" "$KSCC" run --kscc-device=emulated -- ./machine
[ "$status" != 0 ] || fail "a program without PTX ran"
expect_err "compile with code=compute_XX as well"
