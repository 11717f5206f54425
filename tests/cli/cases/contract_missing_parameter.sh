# The contract names a parameter that the entry has not: an error with its place, the baseline object.
light
unit; sed -i 's/in    x :/in    z :/' unit.cu
agent -c unit.cu -o unit.o
expect_status 0
expect_file unit.o
expect_err "unit.cu:"
expect_err "error:"
expect_err "'z'"
expect_err "the contract of 'scale_shift' does not fit, the baseline object stays"
