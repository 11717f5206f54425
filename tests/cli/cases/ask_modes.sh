# Who asks: a person's questions come from a file, line by line; an agent asks itself, in the bank's words or its own; all of it is in the trace.
light
unit; good_candidate 1
printf 'operator-boundary: must the values between the two launches be in memory at all?\nand then?\n' >questions.txt
agent --kscc-ask=human:questions.txt --kscc-agent=file:cand --kscc-trace=human.jsonl -c unit.cu -o unit.o
expect_status 0
expect_err "question (start, operator-boundary): must the values between the two launches be in memory at all?"
expect_file unit.o
agent --kscc-ask=self --kscc-fresh --kscc-agent=file:cand --kscc-trace=words.jsonl -c unit.cu -o unit.o
expect_status 0
expect_err "question (start, none): Which question about another layer,"
agent --kscc-ask=self --kscc-fresh --kscc-budget=trials:1 --kscc-trace=self.jsonl -c unit.cu -o unit.o
expect_status 0
python3 - <<'P' || fail "the traces do not say who asked"
import json
def asked(name): return [e for e in map(json.loads, open(name)) if e["ev"] == "question"]
human, words, own = asked("human.jsonl"), asked("words.jsonl"), asked("self.jsonl")
assert human[0]["origin"] == "human" and human[0]["point"] == "start" and human[0]["layer"] == "operator-boundary", human
assert all(q["origin"] == "human" for q in human) and len(human) <= 2, human
assert words and all(q["origin"] == "self" and q["layer"] == "none" for q in words), words
# the builtin agent has no words: where it would look itself is where the bank's question points
tried = next(e for e in map(json.loads, open("self.jsonl")) if e["ev"] == "proposal")
assert own and own[0]["origin"] == "self" and own[0]["id"].split("/")[0] == own[0]["layer"] == tried["layer"], (own, tried["layer"])
P
for t in human words self; do python3 "$SRC/tests/cli/check_schema.py" "$SRC/docs/trace.schema.json" $t.jsonl || fail "$t.jsonl does not fit its schema"; done
agent --kscc-ask=human:nowhere -c unit.cu -o unit.o
expect_status 0; expect_err "cannot find the file of questions 'nowhere'"
