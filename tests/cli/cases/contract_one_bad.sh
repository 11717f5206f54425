# A contract with an error is left out; the others of the file count.
light
unit; good_candidate 1
cat >>unit.cu <<'G'
// kscc: entry other
// kscc: dims  n=1..
extern "C" void other(float *y, int n, cudaStream_t stream)
{
    shift<<<(n + 255) / 256, 256, 0, stream>>>(y, n);
}
G
sed -n '/^\/\/ kscc: entry other/,$p' unit.cu | grep -v kscc: >>cand/1.cu
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "unit.cu:25:"
expect_err "going on with the contracts without errors"
expect_err "emitted unit.o"
