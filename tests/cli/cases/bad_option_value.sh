# A wrong value of ours: a warning that says what was done instead, nvcc compiles alone.
fake_nvcc fake
export PATH="$PWD/fake:$PATH"
echo '__global__ void k() {}' >a.cu
run "$KSCC" -O-agent --kscc-budget=lots -c a.cu -o a.o
expect_status 0
expect_file a.o
expect_err "warning: option '--kscc-budget': expected trials:N"
expect_err ", compiling with nvcc only"
KSCC_O_AGENT=1 KSCC_DEVICE=abacus run "$KSCC" -c a.cu -o b.o
expect_status 0
expect_file b.o
expect_err "environment variable 'KSCC_DEVICE'"
