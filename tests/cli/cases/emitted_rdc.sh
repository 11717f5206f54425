# Relocatable device code: the object goes through a device link with others and keeps both versions; -dc and -rdc=true -c alike.
light
unit; good_candidate 1; side_program
sed -i 's/n=1..65536/n=1..4096/; s/n=65536/n=4096/' unit.cu cand/1.cu
agent --kscc-agent=file:cand -O2 -arch=sm_90a -dc unit.cu -o unit.o
expect_status 0
expect_out_empty
expect_err "emitted unit.o"
"$REAL_NVCC" -O2 -arch=sm_90a -dc unit.cu -o base.o
exports() { nm -g --defined-only "$1" | awk '{print $3}' | grep -v __kscc_ | sort; }
exports unit.o >a; exports base.o >b
expect_same a b
nm -g unit.o | grep -q __cudaRegisterLinkedBinary || fail "the original's half is not relocatable any more"
run "$REAL_NVCC" -O2 -arch=sm_90a -rdc=true -cudart shared side.cu unit.o -o program
expect_status 0
expect_sides ./program
# linked in two steps, as CMake does it
run "$REAL_NVCC" -arch=sm_90a -dc side.cu
run "$REAL_NVCC" -arch=sm_90a -dlink side.o unit.o -o dlink.o
expect_status 0
run g++ side.o unit.o dlink.o -L"$(dirname "$(dirname "$REAL_NVCC")")/lib64" -lcudart -o two_steps
expect_status 0
expect_sides ./two_steps
# the certificate serves the other spelling: it is about the same text and flags
agent --kscc-agent=file:cand -O2 -arch=sm_90a -rdc=true -c unit.cu -o unit2.o
expect_err "emitted unit2.o"
# without -O the host compiler keeps what nvcc names modules by; the candidate's is no module
agent --kscc-agent=file:cand -arch=sm_90a -dc unit.cu -o plain.o
expect_err "emitted plain.o"
run "$REAL_NVCC" -arch=sm_90a -rdc=true -cudart shared side.cu plain.o -o plain
expect_status 0
expect_sides ./plain
# what needs another unit's device code cannot be proved alone, and is said so
sed -i 's/^__global__ void scale(/extern __device__ float factor();\n&/; s/x\[i\] \* 3.0f;/x[i] * factor();/' unit.cu
agent --kscc-agent=file:cand -arch=sm_90a -dc unit.cu -o unit.o
expect_status 0
expect_err "the baseline object stays"
expect_no_err "emitted"
