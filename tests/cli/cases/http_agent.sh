# A model behind an endpoint: wrong calls, a wrong turn, another lineage, code that was timed before, a claim; then the accepted
# candidate.  The key reaches the endpoint and nothing else; a kill in the middle loses nothing.
light
unit
sed -i '1i // caf\xe9' unit.cu # messages and trace are UTF-8, the source need not be
key=planted-key-0123456789abcdef
endpoint plays_scale_shift
KSCC_API_KEY=$key agent -c unit.cu -o unit.o --kscc-trace=copy.jsonl
expect_status 0
expect_err "trial 1 (a wrong turn): rejected by numerics"
expect_err "trial 2 (fuse): accepted"
expect_err "trial 3 compiles to the same code as trial 2: not run and not timed again"
expect_err "emitted unit.o"
grep -q '"problem": null' requests.log || fail "no request came"
grep -q '"problem": "' requests.log && fail "the endpoint found a request malformed"
grep -q "Bearer $key" requests.log || fail "the key did not reach the endpoint"
grep -rl "$key" .kscc err out copy.jsonl unit.o && fail "the key was written down"
grep -q '"ev":"conversation"' copy.jsonl || fail "no conversation in the trace"
grep -q '"ev":"spend"' copy.jsonl || fail "no spend in the trace"
python3 "$SRC/tests/cli/check_schema.py" "$SRC/docs/trace.schema.json" copy.jsonl || fail "schema"
grep -q 'rejected' requests.log || fail "the verdict did not reach the model"
endpoint_end

# both APIs, whole replies
mkdir whole && cd whole && unit
endpoint plays_scale_shift
KSCC_API_KEY=$key agent --kscc-api=anthropic --kscc-stream=off -c unit.cu -o unit.o
expect_status 0
expect_err "trial 2 (fuse): accepted"
expect_err "emitted unit.o"
grep -q '"problem": "' requests.log && fail "the endpoint found a request malformed"
grep -q "\"[Xx]-[Aa]pi-[Kk]ey\": \"$key\"" requests.log || fail "the key did not reach the endpoint"
endpoint_end
cd ..

# kill -9 between the second verdict and the end
mkdir killed && cd killed && unit
endpoint plays_scale_shift
"$KSCC" -O-agent --kscc-device=emulated --kscc-api=anthropic -c unit.cu -o unit.o >out 2>err </dev/null & pid=$!
for i in $(seq 3000); do [ "$(cat .kscc/objects/*/journal.jsonl 2>/dev/null | wc -l)" -ge 2 ] && break; sleep 0.05; done
kill -KILL $pid; wait $pid 2>/dev/null
said=$(grep -c '"ev":"reply"' .kscc/objects/*/conversation.jsonl)
asked=$(wc -l <requests.log)
agent --kscc-api=anthropic -c unit.cu -o unit.o
expect_status 0
expect_err "resuming: "
expect_err "trial 3 compiles to the same code as trial 2"
expect_err "emitted unit.o"
[ "$(grep -c '"phase":"trial"' "$(key_dir)journal.jsonl")" = 3 ] || fail "trials were run again"
all=$(grep -c '"ev":"reply"' "$(key_dir)conversation.jsonl")
[ "$(wc -l <requests.log)" -le $((asked + all - said + 1)) ] || fail "requests were sent again: $(wc -l <requests.log), before $asked, replies $said of $all"
grep -q '"problem": "' requests.log && fail "the endpoint found a request malformed"
endpoint_end
