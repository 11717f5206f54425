# An options file that can be read once is nvcc's to read.
echo '__global__ void k(float *p) { *p = 1; }' >a.cu
printf -- '-ptx -o pipe.ptx' | "$KSCC" -optf /dev/stdin a.cu >out 2>err; status=$?
expect_status 0
expect_file pipe.ptx
mkfifo fifo
printf -- '-ptx -o fifo.ptx' >fifo & timeout 30 "$KSCC" -optf fifo a.cu >out 2>err </dev/null; status=$?
expect_status 0
expect_file fifo.ptx
KSCC_O_AGENT=1 run timeout 30 "$KSCC" -c -optf <(printf -- '-DX -o sub.o') a.cu
expect_status 0
expect_file sub.o
