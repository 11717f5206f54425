# kscc interactive: the same sitting at a prompt; wrong commands, a stdin that breaks off, and what kscc try sees of it afterwards.
light
unit
good_candidate 1
cp unit.cu orig.cu
export KSCC_DEVICE=emulated
run timeout 300 "$KSCC" try unit.cu
expect_status 0
cp cand/1.cu unit.cu
talk() { timeout 300 "$KSCC" interactive unit.cu "$@" >out 2>err; status=$?; }
{
  printf 'help\n\n  \nfrobnicate\ntry\ntry compute\ntry compute fast because\ntry everywhere 1.5 no such layer\nbranch x\nbranch 7\nprofile 99\n'
  printf 'ask\nask compute\nask nolayer\nsearch [\nsearch __global__\nread 0\n'
  head -c 70000 /dev/zero | tr '\0' a; printf '\n'
  printf '\377\376\001 bytes\n'
  printf 'try operator-boundary 1.6 one launch does it   \r\nhistory\nbest\nprofile\nfinish\nbest' # no newline at the end
} | talk
expect_status 0
for words in "no command 'frobnicate'" 'try LAYER SPEEDUP BECAUSE' 'takes the number of a trial' 'there is no candidate 7' 'there is no candidate 99' \
  'longer than 65536 bytes' 'trial 1 (edit 1): accepted' 'certificate '; do
  grep -qF "$words" out || fail "no '$words' in: $(cut -c1-300 out)"
done
[ "$(grep -c '^trial 1 (edit 1): accepted' out)" = 4 ] || fail "try, history, best and best after finish: $(cut -c1-300 out)"
grep -q 'layer' out || fail "nothing about a wrong layer"
run timeout 300 "$KSCC" try unit.cu --show history
grep -q '^trial 1 (edit 1): accepted' out || fail "$(cat out)"
cp orig.cu unit.cu
agent -c unit.cu -o unit.o
expect_err 'from the store'

talk </dev/null; expect_status 0
talk <&-; expect_status 0
talk --entry </dev/null; expect_status 2
"$KSCC" interactive </dev/null >out 2>err; status=$?; expect_status 2
