# nvcc cannot compile it: nvcc's messages and status. libclang cannot parse it: nvcc's object stays.
light
unit; echo 'this is no C++' >>unit.cu
run "$REAL_NVCC" -c unit.cu -o want.o; want=$status
agent -c unit.cu -o unit.o
expect_status "$want"
expect_err "unit.cu("
expect_no_err "kscc:"
expect_no_file unit.o
unit; sed -i 's/^#include.*/#ifdef __clang__\n}}}} extern "C" {{{{\n#endif\n&/' unit.cu
agent -c unit.cu -o unit.o
expect_status 0
expect_file unit.o
expect_err "unit.cu"
expect_err "kscc: warning:"
