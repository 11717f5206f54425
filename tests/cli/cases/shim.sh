# kscc shim: a toolkit of links whose nvcc is kscc; it stands for the toolkit it was made from, wherever it is used.
run "$KSCC" shim "shi m"
expect_status 0
[ "$(cat out)" = "$PWD/shi m" ] || fail "does not print the folder: $(cat out)"
[ "$(realpath "shi m/bin/nvcc")" = "$(realpath "$KSCC")" ] || fail "its nvcc is not kscc"
for f in include lib64 bin/ptxas bin/nvcc.profile nvvm; do [ -e "$(dirname "$(dirname "$REAL_NVCC")")/$f" ] || continue; [ -e "shi m/$f" ] || fail "lacks $f"; done
echo '__global__ void k(float *p) { *p = 1; }' >a.cu
"$REAL_NVCC" -dryrun -c a.cu 2>&1 | grep -E '^#\$ (TOP|_HERE_)=' >want
CUDA_HOME="$PWD/shi m" run env PATH=/usr/bin:/bin "shi m/bin/nvcc" -dryrun -c a.cu
grep -E '^#\$ (TOP|_HERE_)=' err >got
expect_same got want
"shi m/bin/nvcc" -c a.cu || fail "does not compile"
# A second call renews it; a folder with other things in it is left alone.
run "$KSCC" shim "shi m"
expect_status 0
mkdir full; echo x >full/file
run "$KSCC" shim full
expect_status 1
expect_err "'full' is not empty and no shim"
[ "$(ls full)" = file ] || fail "a foreign folder was written to"
# The nvcc it stands for need not be on PATH nor in the usual places.
mkdir -p other/bin; fake_nvcc other/bin
run env PATH="$PWD/other/bin:$PATH" "$KSCC" shim of_other
expect_status 0
FAKE_LOG=$PWD/log run of_other/bin/nvcc -c a.cu
grep -qx "$PWD/other/bin/nvcc" log || fail "the shim does not lead to the toolkit it was made from"
# No usage is guessed.
run "$KSCC" shim
expect_status 2
# A script named nvcc that runs kscc is no nvcc; a folder named kscc on the way to another program does not make it one.
mkdir -p wrap kscc/bin
printf '#!/bin/sh\nexec "%s" "$@"\n' "$KSCC" >wrap/nvcc
chmod +x wrap/nvcc
run "$KSCC" --kscc-nvcc="$PWD/wrap/nvcc" -c a.cu
expect_status 127
expect_err "it is kscc"
fake_nvcc kscc/bin
printf '#!/bin/sh\nexec "%s/kscc/bin/nvcc" "$@"\n' "$PWD" >wrap/nvcc
FAKE_LOG=$PWD/wrapped run "$KSCC" --kscc-nvcc="$PWD/wrap/nvcc" -c a.cu
expect_status 0
grep -q 'kscc/bin/nvcc' wrapped || fail "the wrapper was not run"
