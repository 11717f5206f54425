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
# one without a kernel has nothing to say about: a build of many stays quiet
echo '#include <cstdio>
int main() { return puts("") < 0; }' >main.cu
agent -c main.cu -o main.o
expect_status 0
[ ! -s err ] || fail "said: $(cat err)"
