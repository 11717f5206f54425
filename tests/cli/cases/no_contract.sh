# A unit without a contract: a remark, the baseline object, nothing else.
unit; sed -i '/kscc:/d' unit.cu
"$REAL_NVCC" -c unit.cu -o want.o
agent -c unit.cu -o unit.o
expect_status 0
expect_err "unit.cu: no workload: neither a contract"
expect_err "compiling with nvcc only"
expect_out_empty
expect_file unit.o
expect_no_file .kscc
