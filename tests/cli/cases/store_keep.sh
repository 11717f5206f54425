# kscc store export, import, gc; approve shows what it is about, revoke takes it back; a shared store below one's own.
light kept
unit; good_candidate 1
# traced COMMAND...: run, and seen to ask nothing of the file system that a network file system lacks (ARCHITECTURE.md)
strace -o /dev/null true 2>/dev/null && tracing=1
traced() {
  [ -n "${tracing:-}" ] || { run "$@"; return; }
  run strace -f -y -qq -s 0 --seccomp-bpf -e trace=openat,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlink,link,linkat,mmap,flock,fcntl -A -o calls "$@"
}
traced timeout 300 "$KSCC" -O-agent --kscc-device=emulated --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "emitted unit.o"
key=$(basename "$(key_dir)")
traced "$KSCC" approve "${key:0:12}" </dev/null
expect_status 0
grep -q '^+.*3.0f + 1.0f' out || fail "the diff is not shown"
grep -q 'numerics' out || fail "the gates are not shown"
# there and back: the same bytes, no approval unless asked for, nothing twice, nothing that was touched
run "$KSCC" store export all.tar
expect_status 0
run "$KSCC" store export again.tar "${key:0:12}"
expect_same all.tar again.tar
traced "$KSCC" store import all.tar --kscc-dir=other
expect_status 0
run "$KSCC" store verify --kscc-dir=other
expect_status 0
if [ -n "${tracing:-}" ]; then
  python3 "$SRC/tests/cli/store_calls.py" .kscc other <calls >asked; [ ! -s asked ] || { fail "the store needs more than a network file system has"; cat asked; }
  # another machine replaces what is read here
  cp -r other replaced
  for f in certificate.json candidate.cu; do
    run strace -f -qq -o faults -P "replaced/objects/$key/$f" -e trace=read -e inject=read:error=ESTALE:when=1 "$KSCC" store verify --kscc-dir=replaced
    grep -q ESTALE faults || fail "no fault was injected"; expect_status 0
    grep -q '1 certificate good, 0 bad' out || { fail "$f was replaced while it was read"; cat out; }
  done
fi
grep -q '1 certificate good, 0 bad' out || { fail "not verified"; cat out; }
expect_no_file "other/objects/$key/approved.json"
grep -qx '/index.db\*' other/.gitignore || fail "a new store has no list of what is not committed"
mkdir own && echo mine >own/.gitignore && "$KSCC" store import all.tar --kscc-dir=own >/dev/null
[ "$(cat own/.gitignore)" = mine ] && [ -d "own/objects/$key" ] || fail "somebody's own list is gone"
rm other/.gitignore
run "$KSCC" store import all.tar --kscc-dir=other
expect_no_file other/.gitignore # taken away on purpose
grep -q 'here already' out || fail "imported twice"
run "$KSCC" store import all.tar --with-approvals --kscc-dir=third
expect_file "third/objects/$key/approved.json"
mkdir -p bad/objects && cp -r "$(key_dir)" bad/objects/ && echo '// touched' >>"bad/objects/$key/candidate.cu"
tar -C bad/objects -cf bad.tar "$key"
run "$KSCC" store import bad.tar --kscc-dir=fourth
expect_status 1
grep -q 'left out: .*candidate.cu' out || { fail "a touched candidate was taken"; cat out; }
ln -sf /etc/passwd "bad/objects/$key/report.txt"; tar -C bad/objects -cf bad.tar "$key"
run "$KSCC" store import bad.tar --kscc-dir=fourth
grep -q 'left out: .*no plain file' out || { fail "a link was taken"; cat out; }
[ -z "$(ls -A fourth/objects)" ] || fail "something was left behind"
run "$KSCC" store export link.tar "$key" --kscc-dir=bad
expect_status 1; expect_err "'report.txt' is no plain file"; expect_no_file link.tar
# a shared store is read first and never written; what it approves, a build in CI emits without a device or an agent
chmod -R a-w third; rm -rf .kscc unit.o
CI=true agent --kscc-shared-dir=third --kscc-agent=file:/nonexistent -c unit.cu -o unit.o 2>/dev/null
CI=true agent --kscc-shared-dir=third -c unit.cu -o unit.o
expect_status 0
expect_err "emitted unit.o"
expect_err "third/objects/$key/certificate.json"
expect_no_err "trial"
chmod -R u+w third
run "$KSCC" revoke "$key" --kscc-dir=third
expect_status 0
CI=true agent --kscc-shared-dir=third -c unit.cu -o unit.o
expect_err "no approved certificate"
# an archive whose folder is a link to one of ours; a name with a colon is a file's, not a machine's
run "$KSCC" approve --no-kept "$key" --kscc-dir=third
mkdir arc && ln -s "$PWD/third/objects/$key" "arc/$key" && tar --force-local -C arc -cf 'host:link.tar' "$key"
run "$KSCC" store import 'host:link.tar' --kscc-dir=third
expect_status 1; grep -q "is no plain folder" out || fail "a link is taken for a folder: $(cat out err)"
[ -f "third/objects/$key/approved.json" ] || fail "an archive took an approval of ours away"
# gc: nothing worth keeping is lost; other gate versions and leftovers go; a limit takes what is not approved
run "$KSCC" store gc --kscc-dir=other
grep -q '^0 removed' out || { fail "gc removed something"; cat out; }
cp -r "other/objects/$key" "other/objects/${key//[0-9a]/b}"
touch -d '2 hours ago' "other/objects/$key/certificate.json.AbCdEf"
cp -r other damaged && head -c 100 "other/objects/$key/certificate.json" >"damaged/objects/$key/certificate.json"
run "$KSCC" store gc --kscc-dir=damaged
run "$KSCC" check unit.cu --kscc-dir=damaged
expect_status 1; expect_err "cannot parse JSON in 'damaged/objects/$key/certificate.json'"
# what a newer kscc wrote is refused with both versions, and stays
cp -r other newer && sed -i 's/"gate_version":[[:space:]]*/&9/' "newer/objects/$key/certificate.json"
run "$KSCC" store verify --kscc-dir=newer
expect_status 1; grep -q "was made by gate version 9[0-9]*, this is [0-9]*: a newer kscc wrote it" out || fail "a newer certificate: $(cat out)"
run "$KSCC" store gc --kscc-dir=newer
expect_file "newer/objects/$key/certificate.json"
cp -r other vast && truncate -s 9G "vast/objects/$key/trace.jsonl"
run timeout 20 "$KSCC" store verify --kscc-dir=vast
expect_status 1; grep -q "trace.jsonl' is larger than" out || fail "a file without end: $(cat out err)"
[ -f "damaged/objects/$key/candidate.cu" ] || fail "gc took a candidate whose certificate is damaged: $(cat out)"
run "$KSCC" store gc --kscc-dir=other
grep -q '^1 removed' out || { fail "a folder under another's key stays"; cat out; }
expect_no_file "other/objects/$key/certificate.json.AbCdEf"
run "$KSCC" approve "$key" --kscc-dir=other
run "$KSCC" store gc --max-size=1K --kscc-dir=other
grep -q '^0 removed' out || { fail "what was approved is gone"; cat out; }
run "$KSCC" revoke "$key" --kscc-dir=other
run "$KSCC" store gc --max-size=1K --kscc-dir=other
grep -q '^1 removed' out || { fail "the limit does nothing"; cat out; }
run "$KSCC" store list --kscc-dir=other
[ ! -s out ] || fail "the index still lists it"
