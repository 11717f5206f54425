# kscc as nvcc's own host compiler does not call nvcc again for ever.
ln -s "$KSCC" kscc-as-host
echo '__global__ void k(float *p) { *p = 1; }' >a.cu
run timeout 60 "$KSCC" -ccbin "$PWD/kscc-as-host" -c a.cu -o a.o
expect_status 0
expect_file a.o
# also where nvcc runs what it made
echo 'int main() { return 7; }' >m.cu
run timeout 60 "$KSCC" -ccbin "$PWD/kscc-as-host" -run m.cu
expect_status 7
# and where a script stands for the host compiler
printf '#!/bin/sh\n"%s" "$@"\n' "$KSCC" >script; chmod +x script
run timeout 60 "$KSCC" -ccbin "$PWD/script" -c a.cu -o b.o
expect_status 0
run timeout 60 "$KSCC" -ccbin "$PWD/script" -run m.cu
expect_status 7
