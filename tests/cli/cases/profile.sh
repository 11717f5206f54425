# kscc profile: counters of a unit's contract and of a program, as a table, as annotated source and as JSON.
light
unit
run "$KSCC" profile unit.cu
expect_status 0
grep -q '^scale_shift at n=65536: [0-9.]* us modelled' out || fail "no timing point"
grep -q '^    load  *2048  *8192  *4.00  *262144  *100 %' out || fail "loads of a kernel are not counted"
line=$(grep -n 'y\[i\] = x\[i\] \* 3' unit.cu | cut -d: -f1)
grep -qE "  2048 +4\.0 +2048 +4\.0 .* $line +y\[i\] = x\[i\] \* 3" out || fail "the source line lacks its loads and stores"
run "$KSCC" profile --json unit.cu
python3 - <<'F2' || fail "the JSON is not what the table says"
import json
u, = json.load(open("out"))
k = u["profile"]["points"][0]["kernels"]
assert u["entry"] == "scale_shift" and u["profile"]["modelled"] is True and len(k) == 2
assert all(x["global_load_requests"] == 2048 and x["operators"] and x["occupancy"]["limits"] for x in k)
assert any(l.get("l2_unique_bytes") == 2 * 262144 for x in k for l in x["lines"]), [l.get("l2_unique_bytes") for x in k for l in x["lines"]]
F2
echo 'int main() { return 0; }' >none.cu
run "$KSCC" profile none.cu
expect_status 1
expect_err "no contract"
run "$KSCC" profile --kscc-device=cuda unit.cu
expect_status 1
expect_err "counts on the emulated device"
cat >p.cu <<'F2'
#include <cstdio>
__global__ void k(int *p) { p[threadIdx.x] = 1; }
int main()
{
    int *p;
    cudaMalloc(&p, 128);
    k<<<1, 32>>>(p);
    k<<<1, 32>>>(p);
    printf("said by the program %d\n", cudaDeviceSynchronize());
    return 3;
}
F2
"$REAL_NVCC" -lineinfo -arch=sm_90 -cudart shared p.cu -o p || fail "no program"
run env LD_PRELOAD="$PROGRAM_PRELOAD" "$KSCC" profile -- ./p
expect_status 3
grep -q 'said by the program 0' out || fail "the program's own output is lost"
grep -q '2 launches, grid 1x1x1, block 32x1x1' out || fail "no table"
grep -qE '__global__ void k' out || fail "no source"
run env LD_PRELOAD="$PROGRAM_PRELOAD" "$KSCC" profile --json -- ./p
python3 -c 'import json; p, = json.load(open("out")); assert p["kernels"][0]["global_store_sectors"] == 8' || fail "no JSON of a program"
expect_err "said by the program 0"
run env LD_PRELOAD="$PROGRAM_PRELOAD" "$KSCC" profile -- ./nonexist
expect_status 127
run "$KSCC" profile --json --
expect_status 2
