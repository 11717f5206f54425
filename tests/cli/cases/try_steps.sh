# kscc try: a sitting over one file, many calls.  Each is judged against the text of the first call; state, best, questions and trace go
# on from call to call; the end is a certificate that a build of the original emits.
light
unit
good_candidate 1
cp unit.cu orig.cu
export KSCC_DEVICE=emulated
try() { run timeout 300 "$KSCC" try unit.cu "$@"; }

try
expect_status 0
grep -qx 'no trial yet' out || fail "$(cat out)"
grep -q '^question (' out || fail "no question at the start: $(cat out)"
try --layer compute --because 'nothing was changed' --predict 1.5
expect_status 2
grep -q 'the working text is the original' out || fail "$(cat out)"

# no statement, no trial; half a statement is none
sed 's/\* 3.0f;/* 3.5f;/' orig.cu >unit.cu
try
expect_status 2
expect_err 'state what you expect before it is tried'
try --layer compute --predict 1.2
expect_status 2
try --layer everywhere --because 'no such layer' --predict 1.2
expect_status 2
sitting=$(ls -d .kscc/sittings/*/)
expect_no_file "${sitting}journal.jsonl"

try --layer compute --because 'three and a half is rounder' --predict 1.2 --label rounder
expect_status 1
grep -q '^trial 1 (rounder): rejected' out || fail "$(cat out)"
grep -q '  numerics: ' out || fail "no reason"
cp "${sitting}trace.jsonl" before.jsonl
cp cand/1.cu unit.cu
try --layer operator-boundary --because 'y makes a round trip between two launches' --predict 1.6 --json
expect_status 0
python3 -c 'import json; v=json.load(open("out")); assert v["candidate"]==2 and v["outcome"]=="accepted" and v["is_best"] and v["times"]=="modelled", v' ||
  fail "$(cat out)"

# the trace goes on where it was, byte for byte, and fits the schema
head -c "$(stat -c %s before.jsonl)" "${sitting}trace.jsonl" >prefix.jsonl
expect_same before.jsonl prefix.jsonl
python3 "$SRC/tests/cli/check_schema.py" "$SRC/docs/trace.schema.json" "${sitting}trace.jsonl" || fail "schema"
run "$KSCC" trace show "$sitting"
[ "$(grep -c '^ *[0-9]*  verdict' out)" = 2 ] || fail "$(cat out)"

# the same text is not tried twice, and costs no statement
try --layer compute --because 'once more' --predict 1.1
expect_status 0
grep -q 'tried before' out || fail "$(cat out)"
[ "$(wc -l <"${sitting}journal.jsonl")" = 2 ] || fail "tried again"

try --show history
expect_status 0
[ "$(grep -c '^trial ' out)" = 2 ] || fail "$(cat out)"
try --show best; expect_status 0; grep -q '^trial 2' out || fail "$(cat out)"
try --show profile; expect_status 0
try --ask=compute; expect_status 0

# other flags make another baseline
try -O1 --show best
expect_status 1
expect_err '--restart begins a new one'

# the end: a certificate that builds of the original find
try --finish
expect_status 0
grep -q '^certificate .*1\.[0-9]*x modelled' out || fail "$(cat out)"
run "$KSCC" trace stats .kscc/sittings/*
grep -q '; 1 confirmed$' out && grep -qx 'ended       operator' out || fail "stats of a sitting with a certificate: $(cat out)"
cp orig.cu unit.cu
agent -c unit.cu -o unit.o
expect_status 0
expect_err 'from the store'
expect_symbol unit.o scale_shift

# anew: over the text as it is now, or over a named one
cp cand/1.cu unit.cu
try --baseline orig.cu --show history
expect_status 2
try --restart --baseline orig.cu --layer operator-boundary --because 'as before' --predict 1.6
expect_status 0
grep -q '^trial 1 (edit 1): accepted' out || fail "$(cat out)"

# bad input
try --predict; expect_status 2; expect_err '--predict needs a value'
try --layer compute --because x --predict fast; expect_status 2; expect_err "got 'fast'"
try --layer compute --because x --predict -1; expect_status 2
try --layer compute --because x --predict nan; expect_status 2
try --show everything; expect_status 2
try --show best --ask; expect_status 2
run "$KSCC" try; expect_status 2
run "$KSCC" try nothere.cu; expect_status 1; expect_err 'nothere.cu'
printf 'a\0b' >unit.cu
try --layer compute --because 'zero bytes' --predict 1.1
expect_status 1
expect_err 'zero bytes'
echo 'int main() { return 0; }' >plain.cu
run "$KSCC" try plain.cu; expect_status 1; expect_err 'no workload'
echo '// kscc: entry f' >broken.cu
run "$KSCC" try broken.cu; expect_status 1
rm -rf .kscc/sittings/*/sitting.json # a sitting that was never begun: begins now
cp orig.cu unit.cu
try; expect_status 0; grep -qx 'no trial yet' out || fail "$(cat out)"
