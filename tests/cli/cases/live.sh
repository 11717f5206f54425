# A search on a terminal: one block that is redrawn and leaves nothing behind, at 80 and 160 columns, after a change of size and after
# Ctrl-C, which lets the trial under way come to its verdict and says how the search goes on.  Lines where there is no terminal:
# cli.bad_candidates; inside a build: cli.machine_output.
light
unset NO_COLOR; export TERM=xterm
unit
candidate 1 'compute 1.1 answers wrongly' 'if (i < n) y[i] = 7;'
good_candidate 2
candidate 3 'compute 1.2 a second way, with a hypothesis that is longer than what a row of eighty columns can hold beside its label' \
  'if (i < n) y[i] = x[i] * 3.0f + (n < 0 ? 2.0f : 1.0f);'
candidate 4 'compute 1.3 answers wrongly, too' 'if (i < n) y[i] = 9;'
on_terminal() { # on_terminal COLUMNS ROWS OUT OPTION... -- WORDS: kscc there
  local a=("$1" "$2" "$3"); shift 3
  while [ "$1" != -- ]; do a+=("$1"); shift; done; shift
  timeout 300 python3 "$SRC/tests/cli/terminal.py" "${a[@]}" -- "$KSCC" -O-agent --kscc-device=emulated --kscc-agent=file:cand -c unit.cu -o unit.o "$@" >out 2>err || { fail "no terminal"; cat err; }
}
cat >check.py <<'P'
import json, sys
def load(name):
    r = json.load(open(name))
    for s in r["screens"]:
        for line in s["text"].split("\n")[-r["rows"]:]:
            if line.startswith("  "): assert len(line) < r["columns"], (len(line), line)
        heads = [l for l in s["text"].split("\n") if l.startswith("  stage ")]
        assert len(heads) <= 1, s["text"]
    r["all"] = "\n".join(s["text"] for s in r["screens"]); r["last"] = r["screens"][-1]["text"]
    assert r["status"] == 0, r["last"]
    assert "  stage " not in r["last"] and "  spent " not in r["last"], r["last"]
    return r
P
on_terminal 80 24 narrow.json --key 'trial 3: gate=^C' --
cat >narrow.py <<'P'
from check import load
r = load("narrow.json")
for words in ("kscc: unit.cu: entry scale_shift on", "  stage       the original", "  stage       trial 1: gate", "  stage       trial 2: building", "  stage       confirmation: gate",
              "; then it ends (once more: at once)", "  trials      1 of 24 done, 0 accepted; none faster yet", "  trials      2 of 24 done, 1 accepted; best ", "x modelled",
              "  spent       ", "; at most ", "  question    ", "  hypothesis  operator-boundary, predicts 1.80x: y makes a "):
    assert words in r["all"], words
assert any(l.startswith("  hypothesis  compute") and l.endswith("...") for l in r["all"].split("\n")), "nothing was cut"
last = r["last"].replace("\n", "")
assert "search ended (signal) after 3 trials, 2 accepted" in last and "the same command goes on from here" in last and "[kscc-interrupted]" in last, last
assert "gate passed: scale_shift" in last and "emitted unit.o" in last and "trial 1 (" not in last, last
P
python3 narrow.py >py.out 2>&1 || { fail "80 columns"; tail -5 py.out; python3 -c 'import json; [print(s["text"], "\n====") for s in json.load(open("narrow.json"))["screens"][-3:]]'; }
[ "$(grep -c '"phase":"trial"' "$(key_dir)journal.jsonl")" = 3 ] || fail "the trial that was under way was lost: $(wc -l <"$(key_dir)journal.jsonl")"
on_terminal 160 40 wide.json --resize 'trial 4: gate' 70x40 -- --kscc-verbose
cat >wide.py <<'P'
from check import load
r = load("wide.json")
last = r["last"].replace("\n", "")
for words in ("resuming: ", "trial 1 gates: ", "trial 4 gates: ", "trial 4 (4.cu): rejected by numerics", "question (", "search ended (exhausted) after 4 trials"):
    assert words in last, (words, last)
assert "a second way, with a hypothesis that is longer than what a row of eighty columns can hold beside its label" in r["all"]
assert "[kscc-interrupted]" not in last
P
python3 wide.py >py.out 2>&1 || { fail "160 columns"; tail -5 py.out; python3 -c 'import json; [print(s["text"], "\n====") for s in json.load(open("wide.json"))["screens"][-3:]]'; }
