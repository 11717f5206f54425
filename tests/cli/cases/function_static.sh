# A function that keeps a variable between calls cannot be in the object twice: the object stays nvcc's own.
light
unit; good_candidate 1
for f in unit.cu cand/1.cu; do
  echo 'extern "C" int calls(void) { static int n; static const int step[2] = {1, 2}; return n += step[n & 1]; }' >>$f
done
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "variable '_ZZ5callsE1n'"
expect_no_err "emitted unit.o"
nm unit.o | grep -q kscc && fail "the object was replaced"
# The same with a constant one is emitted.
sed -i 's/static int n;/static const int n = 0;/; s/n += /n + /' unit.cu cand/1.cu
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "emitted unit.o"
