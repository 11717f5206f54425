# nvcc missing: a clear message, the status of a missing command.
fake_nvcc fake
echo > a.cu
mkdir empty
PATH="$PWD/empty" CUDA_HOME= run "$KSCC" --kscc-nvcc=/nonexistent/nvcc -O-agent -c a.cu -o a.o
expect_status 127
expect_err "cannot run '/nonexistent/nvcc' as nvcc"
expect_err "nothing was compiled"
expect_no_file a.o
