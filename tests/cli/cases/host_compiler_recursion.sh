# kscc as nvcc's own host compiler does not call nvcc again for ever.
ln -s "$KSCC" kscc-as-host
echo '__global__ void k(float *p) { *p = 1; }' >a.cu
run timeout 60 "$KSCC" -ccbin "$PWD/kscc-as-host" -c a.cu -o a.o
expect_status 0
expect_file a.o
