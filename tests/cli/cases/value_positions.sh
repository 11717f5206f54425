# -O-agent as the value of another option is that option's value; nvcc gets it.
echo '__global__ void k(float *p) { *p = 1; }' >a.cu
mkdir -- -O-agent.d
run "$KSCC" -I -O-agent.d -c a.cu -o -O-agent
expect_status 0
expect_file ./-O-agent
expect_no_err kscc
run "$KSCC" -Xptxas -O-agent -c a.cu -o b.o
[ "$status" != 0 ] || fail "-Xptxas -O-agent was accepted, nvcc rejects it"
