# kscc -### prints the lines for nvcc and libclang, quoted, and runs neither.
echo '__global__ void k(float *p) { *p = 1; }' >a.cu
run "$KSCC" '-###' -O-agent -O3 -I x,y -DA=1,B=2 -Xcompiler "'-DQ=\"a b\"',-fPIC,-Wall" -std=c++20 -rdc=true -arch=sm_90a -lineinfo -t 4 -c a.cu -o a.o
expect_status 0
expect_out_empty
expect_no_file a.o
grep '^nvcc: ' err | grep -qF -- "-O3 -I x,y -DA=1,B=2" || fail "no line for nvcc"
grep -q '^nvcc: .*O-agent' err && fail "nvcc would get a switch of ours"
for w in '-x cuda' -Ix -Iy -DA=1 -DB=2 -fPIC -std=c++20 -fgpu-rdc --cuda-gpu-arch=sm_90a 'kscc_clang_shim.h' include/cccl "'-DQ=a b'" ' a.cu'; do
  grep '^libclang: ' err | grep -qF -- "$w" || fail "libclang's line lacks $w"
done
grep -qE '^libclang: .*(-lineinfo|-Wall|-t 4|-O3)' err && fail "libclang's line has words that it misreads"
expect_err "agent: asked"
run "$KSCC" "-###" -O-agent -ewp -c a.cu
expect_err "agent: stands aside: option '-ewp' is in use"
# Options files and variables are read first.
printf -- '-DFROM_FILE="a b" -I inc' >o.optf
NVCC_APPEND_FLAGS=-DFROM_VARIABLE run "$KSCC" '-###' -optf o.optf -c a.cu
for w in "'-DFROM_FILE=a b'" -Iinc -DFROM_VARIABLE; do grep '^libclang: ' err | grep -qF -- "$w" || fail "libclang's line lacks $w"; done
KSCC_HOST=passthrough run "$KSCC" '-###' -Wall -c a.c
grep -qE '^host: .*/gcc -Wall -c a.c$' err || fail "no line for the host compiler"
# As a value it is nothing of ours.
run "$KSCC" -dryrun -DX='-###' -o '-###' -c a.cu
grep -qF '"-###"' err || fail "the value of -o was taken"
