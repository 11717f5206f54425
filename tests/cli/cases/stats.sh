# kscc stats: off without a store of one's own; with one, every call is counted, also by many at once.
fake_nvcc fake
real_path=$PATH
export PATH="$PWD/fake:$PATH"
echo '__global__ void k() {}' >a.cu; echo 'int x;' >a.c
run "$KSCC" -c a.c
run "$KSCC" -O-agent -c a.cu -o a.o
expect_no_file .kscc
run "$KSCC" stats
expect_status 1
expect_err "nothing was counted in '.kscc' yet"
export KSCC_DIR=$PWD/store
# count NAME: its number
count() { "$KSCC" stats --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
printf 'all: %s\n%%.o: ; @FAKE_LOG=/dev/null $(CC) -c a.c -o $@\n' "$(seq -f m%g.o -s ' ' 64)" >Makefile
run make -rs -j64 CC="$KSCC"
expect_status 0
[ "$(count calls)" = 64 ] && [ "$(count plain)" = 64 ] || fail "64 calls of make -j64 were counted as $(count calls)"
run "$KSCC" -O-agent -E a.cu
run "$KSCC" -O-agent -dlto -dc a.cu
run "$KSCC" -O-agent -Wnew-option -c a.cu
run "$KSCC" -O-agent --kscc-policy=off -c a.cu
run "$KSCC" -O-agent --kscc-budget=lots -c a.cu
FAKE_STATUS=3 run "$KSCC" -O-agent -c a.cu
KSCC_HOST=passthrough run "$KSCC" -Wall -c a.c
PATH=$real_path run "$KSCC" -O-agent -c a.cu -o a.o
for name in silent aside_option aside_unknown policy_off bad_value baseline_failed host units no_workload; do
  [ "$(count $name)" = 1 ] || fail "$name is $(count $name)"
done
[ "$(count calls)" = 72 ] || fail "calls: $(count calls)"
run "$KSCC" stats
expect_status 0
grep -qE '^calls as a compiler +72$' out || fail "the text lacks the calls"
grep -q 'certificate hits' out && fail "what did not happen is printed"
run "$KSCC" stats --zero
expect_status 0
[ "$(count calls)" = 0 ] || fail "not zero after --zero"
# A store that cannot be written, or whose file is another's, counts nothing and disturbs nothing.
echo 'something else, longer than the counters are, which is left as it is' >store/stats
head -c 4096 /dev/zero | tr '\0' x >>store/stats; cp store/stats before
run "$KSCC" -c a.c
expect_status 0
expect_same store/stats before
KSCC_DIR=/dev/null/x run "$KSCC" -c a.c
expect_status 0
[ ! -s err ] || fail "says something about counters"
