# A timing point that no memory holds: what, where, and the baseline object.
light
unit; sed -i 's/n=1..65536$/n=1..100000000000/; s/time  n=65536/time  n=50000000000/' unit.cu
sed -i 's/int n, cuda/long n, cuda/' unit.cu
agent -c unit.cu -o unit.o
expect_status 0
expect_file unit.o
expect_err "n=50000000000"
expect_err "the baseline object stays"
