# The contract's entry is not there: the caret points to the name.
light
unit; sed -i 's/kscc: entry scale_shift/kscc: entry scale_shaft/' unit.cu
agent -c unit.cu -o unit.o
expect_status 0
expect_file unit.o
expect_err "unit.cu:1:16: error: 'scale_shaft' is no host function of this file that launches a kernel [kscc-contract]"
expect_err "               ^~~~~~~~~~~"
