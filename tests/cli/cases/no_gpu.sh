# --kscc-device=cuda without a GPU.
nvidia-smi -L >/dev/null 2>&1 && skip "there is a GPU"
unit
run "$KSCC" -O-agent --kscc-device=cuda -c unit.cu -o unit.o
expect_status 0
expect_file unit.o
expect_err "cannot use a GPU: none is present"
expect_err "compiling with nvcc only"
