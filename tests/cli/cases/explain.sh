# Every id that a message can end with is explained, and every failure has one.
run "$KSCC" explain; expect_status 0; sed 's/^kscc-//' out >known
[ "$(wc -l <known)" -gt 30 ] || fail "few ids"
LC_ALL=C sort -c known || fail "not sorted"
{ sed -nE '/\bOK,/d; s/^X\([A-Z_]+, "([^"]+)".*/\1/p' "$SRC/base/codes.def" | tr ' /' '--'
  sed -nE 's/^X\([A-Z_]+, "([^"]+)".*/\1/p' "$SRC/base/layer.def" "$SRC/harness/gate.def"
  grep -rhoE '\[kscc-[a-z-]+\]' --include=*.c --include=*.expected "$SRC"/{base,driver,harness} "$SRC/tests/golden" | sed 's/\[kscc-//; s/\]//'
  grep -rhA2 'ks_diags_add(' "$SRC"/{analyzer,driver,harness,questions,rewriter} --include=*.c | grep -oE '[a-z1], "[a-z-]+",' | sed 's/.*"\(.*\)",/\1/'
} | sort -u >used
for id in $(cat used); do
  run "$KSCC" explain "kscc-$id"; expect_status 0
  [ "$(wc -l <out)" = 3 ] || fail "$id: $(cat out)"
done
run "$KSCC" explain '[kscc-contract]'; expect_status 0; head -1 out | grep -qx kscc-contract || fail "in brackets"
run "$KSCC" explain --json; expect_status 0
python3 -c 'import json; a = json.load(open("out")); assert [e["id"] for e in a] == ["kscc-" + l.strip() for l in open("known")] and all(e["meaning"] and e["remedy"] for e in a)' || fail "explain --json"
run "$KSCC" explain --json contract; expect_status 0; python3 -c 'import json; assert json.load(open("out"))["id"] == "kscc-contract"' || fail "explain --json ID"
run "$KSCC" explain nonsense; expect_status 1; expect_err "[kscc-not-found]"
run "$KSCC" explain a b; expect_status 2
# every call that says something ends with an id, or leaves it to an error's own; the lint itself is tried on calls without one
lint() { python3 - "$@" <<'P'
import re, sys
for path in sys.argv[1:]:
    text = open(path).read()
    for m in re.finditer(r'\bks_say\(\s*(\w+),(.*?)\);\n', text, re.S):
        said = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', m[2]))
        if "[kscc-" in said or path.endswith("/say.c"):
            continue
        print("%s:%d: no id: %s" % (path, text.count("\n", 0, m.start()) + 1, said[:60]))
    # what workers, the emulated runtime and base/ print by themselves; lines of kscc -### say "who: ..."
    for m in re.finditer(r'\bf(?:printf\(stderr, |puts\()"(kscc[^">]*)"', text):
        if "[kscc-" not in m[1]:
            print("%s:%d: no id: %s" % (path, text.count("\n", 0, m.start()) + 1, m[1][:60]))
    # notes of libclang are libclang's
    for m in re.finditer(r'ks_diags_add\(\s*[^;]*?KS_SEV_NOTE,[^;]*?;', text):
        if "NULL" in m[0] and "clang" not in path:
            print("%s:%d: no id: %s" % (path, text.count("\n", 0, m.start()) + 1, m[0][:60]))
P
}
lint $(find "$SRC"/{analyzer,base,driver,harness,questions,rewriter} -name '*.c') >without
[ ! -s without ] || fail "$(cat without)"
printf 'void f(void)\n{\n    ks_say(KS_SEV_ERROR, "nothing\\" [x", 1);\n    ks_say(KS_SEV_WARNING,\n           "two "\n           "lines", 2);\n    ks_say(KS_SEV_ERROR, "one [kscc-x]");\n    fputs("kscc-worker: no\\n", stderr);\n    ks_diags_add(out, KS_SEV_NOTE, path, 1, 1, 1, NULL, "x");\n}\n' >lacks.c
lint lacks.c >without
[ "$(wc -l <without)" = 4 ] || fail "the lint misses calls without an id: $(cat without)"
# failures of several kinds: each line of ours has an id that is known
{ "$KSCC" analyze nofile.cu; "$KSCC" store verify --kscc-dir=none; "$KSCC" report --kscc-dir=none; "$KSCC" help nothing; "$KSCC" approve; "$KSCC" trace show none
  "$KSCC" stats --kscc-dir=none; KSCC_NVCC=/nonexistent "$KSCC" -c a.cu; "$KSCC" run -- /nonexistent; "$KSCC" profile nofile.cu; "$KSCC" mcp --nonsense a b c
  echo '__global__ void k() {}' >a.cu; "$KSCC" contract a.cu; "$KSCC" -O-agent -c a.cu; "$KSCC" -O-agent -cubin a.cu; "$KSCC" -O-agent --kscc-delta=x -c a.cu
} >out 2>err </dev/null
grep -E '^kscc: (error|warning|remark):' err >said
[ "$(wc -l <said)" -ge 13 ] || { fail "few messages"; cat err; }
while IFS= read -r line; do
  id=$(sed -nE 's/.*\[kscc-([a-z-]+)\]$/\1/p' <<<"$line")
  [ -n "$id" ] && grep -qx "$id" known || fail "no id: $line"
done <said
# the table of commands: each once, in order
sed -nE 's/^X\("([a-z-]+)", ks_cmd.*/\1/p' "$SRC/driver/commands.def" >commands
LC_ALL=C sort -uc commands || fail "commands.def is not sorted, or names a command twice"
