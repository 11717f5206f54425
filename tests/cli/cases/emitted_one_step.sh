# Compiled and linked in one step: the program is linked again with the candidate in it, under the same name, mode and status.
light
unit; good_candidate 1; side_program
sed -i 's/n=1..65536/n=1..4096/; s/n=65536/n=4096/' unit.cu cand/1.cu
echo 'int other(int x) { return x; }' >other.c
: >program; chmod 700 program
agent --kscc-agent=file:cand -O2 -arch=sm_90a -cudart shared side.cu unit.cu other.c -MD -MF deps.d -o program
expect_status 0
expect_out_empty
expect_err "linked program again, from 1 object with candidates"
expect_sides ./program
"$REAL_NVCC" -O2 -arch=sm_90a -cudart shared side.cu unit.cu other.c -MD -MF want.d -o program.base
sed 's/program\.base/program/g' want.d >want2.d
expect_same deps.d want2.d
expect_same <(ls) <(printf '%s\n' cand deps.d err other.c out program program.base side.cu unit.cu want.d want2.d | sort)
# a library, relocatable device code, a language for all; the name that nvcc gives
agent --kscc-agent=file:cand -O2 -arch=sm_90a -shared -Xcompiler -fPIC -cudart shared unit.cu -o libunit.so
expect_err "linked libunit.so again"
run "$REAL_NVCC" -O2 -arch=sm_90a -cudart shared side.cu -L. -lunit -Xlinker -rpath,"$PWD" -o user
expect_sides ./user
cp side.cu side.cpp
agent --kscc-agent=file:cand -x cu -O2 -arch=sm_90a -rdc=true -cudart shared side.cpp unit.cu
expect_err "linked a.out again"
expect_sides ./a.out
# nothing to say about a program without contracts but that there are none; one that does not link fails as with nvcc
agent --kscc-agent=file:cand side.cu -o never
[ "$status" != 0 ] || fail "linked without its function"
expect_err "undefined reference"
expect_no_file never
expect_no_err "kscc:"
