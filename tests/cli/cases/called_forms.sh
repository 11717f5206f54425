# By hard link, relative name, a script of that name on PATH, with empty argv, without /proc, from a folder that is gone.
"$REAL_NVCC" --version >expected
mkdir hard script rel
ln "$KSCC" hard/nvcc 2>/dev/null || cp "$KSCC" hard/nvcc # another file system
printf '#!/bin/sh\nexec %s "$@"\n' "$KSCC" >script/nvcc; chmod +x script/nvcc
ln -s "$KSCC" rel/kscc
expect_version() { expect_status 0; expect_same out expected; }
PATH="$PWD/hard:$PATH" run timeout 20 nvcc --version; expect_version
run hard/nvcc --version; expect_version
(cd rel && ./kscc --version) >out 2>err </dev/null; status=$?; expect_version
PATH="$PWD/rel:$PATH" run kscc --version; expect_version
# the script would run kscc, which must not run the script
PATH="$PWD/script:$PATH" run timeout 20 nvcc --version; expect_version
PATH="$PWD/script:$PATH" run timeout 20 "$KSCC" --version; expect_version
# launched: by the name of the real one, by kscc's own, by a shim's
run "$KSCC" nvcc --version; expect_version
run "$KSCC" "$KSCC" --version; expect_version
run hard/nvcc "$REAL_NVCC" --version; expect_version
run "$KSCC" hard/nvcc --version; expect_version
run "$KSCC" -O-agent --kscc-quiet "$REAL_NVCC" --version; expect_version # CMAKE_CUDA_COMPILER_LAUNCHER="kscc;-O-agent;..."
# an empty name, as some programs start others
run bash -c "exec -a '' '$KSCC' --version"; expect_version
python3 -c "import os,sys; os.posix_spawn(sys.argv[1], [], os.environ); os.wait()" "$KSCC" >out 2>err; true
grep -q 'Segmentation' err && fail "an empty argument vector crashes"
# a command's name is a source where nvcc would take it for one
echo '__global__ void k(float *p) { *p = 1; }' >store
run "$KSCC" store -x cu -ptx -o store.ptx
expect_status 0
expect_file store.ptx
# agent work by hard link: the other half is found on PATH
unit
PATH="$(dirname "$KSCC"):$PATH" run hard/nvcc -O-agent --kscc-policy=off -c unit.cu -o unit.o
expect_status 0
expect_err "policy is off"
run "$KSCC" -O-agent --kscc-policy=off "$REAL_NVCC" -c unit.cu -o launched.o
expect_status 0
expect_err "policy is off"
expect_file launched.o
mkdir gone; (cd gone && rmdir ../gone && "$KSCC" --version) >out 2>err </dev/null; status=$?; expect_version
