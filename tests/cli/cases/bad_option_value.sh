# A wrong value of ours: a warning that says what was done instead, nvcc compiles alone.
fake_nvcc fake
export PATH="$PWD/fake:$PATH"
echo '__global__ void k() {}' >a.cu
run "$KSCC" -O-agent --kscc-budget=lots -c a.cu -o a.o
expect_status 0
expect_file a.o
expect_err "warning: option '--kscc-budget': expected trials:N"
expect_err ", compiling with nvcc only"
KSCC_O_AGENT=1 KSCC_DEVICE=abacus run "$KSCC" -c a.cu -o b.o
expect_status 0
expect_file b.o
expect_err "environment variable 'KSCC_DEVICE'"
# a wrong value in the environment is somebody's wish too
KSCC_O_AGENT=maybe run "$KSCC" -c a.cu -o c.o
expect_status 0
expect_file c.o
expect_err "environment variable 'KSCC_O_AGENT': expected trials:N, time:SECONDS, target:SPEEDUP, tokens:N or money:USD, got 'maybe', compiling with nvcc only"
KSCC_O_AGENT=0 run "$KSCC" -c a.cu -o d.o
[ ! -s err ] || fail "an agent that is off says something"
# an agent that does not exist is said before anything is compiled for it
for name in nope file:nowhere; do
  rm -f argv.log
  run "$KSCC" -O-agent --kscc-agent=$name -c a.cu -o e.o
  expect_status 0
  expect_err "warning: option '--kscc-agent': "
  expect_err ", compiling with nvcc only"
  [ "$(grep -c '^/' argv.log)" = 1 ] || fail "nvcc ran $(grep -c '^/' argv.log) times"
done
