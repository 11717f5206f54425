# Command lines that only ask something are nvcc's own, also with -O-agent.
"$REAL_NVCC" --version >expected
run "$KSCC" -O-agent --version
expect_status 0
expect_same out expected
[ ! -s err ] || fail "stderr is not empty"
run "$KSCC" -O-agent -v __cmake_determine_cuda
expect_status 1
expect_err '#$ TOP='
expect_no_err 'kscc: '; expect_no_err '[kscc-'
echo '__global__ void k() {}' >conftest.cu
run "$KSCC" -O-agent -c conftest.cu
expect_status 0
expect_file conftest.o
expect_no_err 'kscc: '; expect_no_err '[kscc-'
