# The baseline decides: its failing status and its death by signal are ours.
fake_nvcc fake
export PATH="$PWD/fake:$PATH"
echo '__global__ void k() {}' >a.cu
FAKE_STATUS=2 run "$KSCC" -O-agent -c a.cu -o a.o
expect_status 2
expect_no_file a.o
FAKE_SIGNAL=HUP run "$KSCC" -O-agent -c a.cu -o a.o
expect_status 129
expect_out_empty
