# A contract that cannot be read: its error, then nvcc only.
unit; sed -i 's/n=1..65536$/n=1../' unit.cu
agent -c unit.cu -o unit.o
expect_status 0
expect_file unit.o
expect_err "unit.cu:2:"
expect_err "compiling with nvcc only"
