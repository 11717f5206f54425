# The hooks with the real pre-commit on a real repository: what may be committed, and what may not, with the reason.
light kept
command -v pre-commit >/dev/null || skip "no pre-commit"
unit; good_candidate 1
export HOME=$PWD/home PRE_COMMIT_HOME=$PWD/home/pre-commit GIT_CONFIG_GLOBAL=$PWD/home/gitconfig PATH="$(dirname "$KSCC"):$PATH"
mkdir -p home hooks/driver
git config --file home/gitconfig user.name somebody; git config --file home/gitconfig user.email somebody@example.org
git config --file home/gitconfig init.defaultBranch main; git config --file home/gitconfig --add safe.directory '*'
# a repository of the hooks, as users name one
cp "$SRC/.pre-commit-hooks.yaml" hooks/; cp -r "$SRC/driver/hooks" hooks/driver/
(cd hooks && git init -q . && git add -A && git commit -qm hooks) || fail "no repository of hooks"
mkdir repo; mv unit.cu repo/; mv cand repo/
cd repo && git init -q .
cat >.pre-commit-config.yaml <<F
repos:
  - repo: $PWD/../hooks
    rev: $(git -C ../hooks rev-parse HEAD)
    hooks:
      - id: kscc-check
      - id: kscc-optimize
        alias: propose
        args: [--kscc-device=emulated, "--kscc-agent=file:cand", --kscc-budget=trials:2, -O2, "-DTEXT=a b"]
        stages: [manual]
      - id: kscc-optimize
        alias: rewrite
        args: [--in-place, --kscc-device=emulated, "--kscc-agent=file:cand", -O2]
        stages: [manual]
F
git add unit.cu .pre-commit-config.yaml
hook() { run timeout 300 pre-commit run "$@"; }
commit() { run timeout 300 git commit -qm "$1"; cat err >>out; }
said() { expect_status 1; grep -qF -- "$1" out || { fail "pre-commit does not say: $1"; cat out; }; }
pre-commit install >/dev/null || fail "no hook"
commit "Source"
expect_status 0
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "emitted unit.o"
key=$(basename "$(key_dir)")
# what is one machine's stays out of the commit, the results go in
"$KSCC" store list >list; grep -q unit.cu list || fail "no index: $(cat list)"
git add .kscc; git ls-files .kscc >listed
for f in index.db locks/ memory.json cache/; do
  [ -e ".kscc/$f" ] || fail "no .kscc/$f here"
  grep -q "^.kscc/$f" listed && fail ".kscc/$f would be committed"
done
for f in original.cu candidate.cu candidate.diff certificate.json trace.jsonl; do grep -qx ".kscc/objects/$key/$f" listed || fail "$f would not be committed"; done
grep -q "kept-.*[.]object" listed || fail "the kept object would not be committed"
# no source is staged: what the commit brings is looked at all the same
commit "Store"; said "certificate ${key:0:12} is not approved (kscc approve ${key:0:12}), and with the policy 'explore' the candidate of scale_shift would ship"
git commit --no-verify -qm "Store, not looked at"
staged_alone() { # FILE EDIT WHAT IS SAID
  sed -i "$2" "$(key_dir)$1"; git add .kscc; commit "$1"; said "$3"; git reset -q --hard
}
staged_alone candidate.cu 's/3.0f/4.0f/' "candidate.cu' is not the file that the certificate names"
staged_alone certificate.json 's/"estimate"/"Estimate"/' "certificate.json' was changed after it was written"
staged_alone certificate.json '1d' "cannot parse JSON in '.kscc/objects/$key/certificate.json'"
git mv unit.cu other.cu; git commit --no-verify -qm "No unit beside the store"
staged_alone certificate.json 's/$/ /' "certificate.json' was changed after it was written"
git mv other.cu unit.cu; git commit --no-verify -qm "As it was"
touch "$(key_dir)certificate.json.AbCdEf"; git add .kscc; git ls-files .kscc | grep AbCdEf && fail "what a killed write left would be committed"
hook kscc-check --files unit.cu; said "certificate ${key:0:12} is not approved (kscc approve ${key:0:12}), and with the policy 'explore' the candidate of scale_shift would ship"
echo 'policy = "approved"' >kscc.toml
hook kscc-check --files unit.cu; expect_status 0
rm kscc.toml
"$KSCC" approve "$key" >/dev/null
hook kscc-check --files unit.cu; expect_status 0
git add .kscc; echo '// approved' >notes.cu; git add notes.cu
commit "Approval"; expect_status 0
# commits that only delete, change the policy, or leave a part out
staged() { commit "$1"; said "$2"; git reset -q --hard; } # after the edit
git rm -q "$(key_dir)approved.json"; staged "No approval" "certificate ${key:0:12} is not approved"
git rm -q "$(key_dir)candidate.cu"; staged "No candidate" "candidate.cu', which the certificate names, is not there"
git rm -q --cached "$(key_dir)approved.json"; staged "An approval that stays here" "$(key_dir)approved.json: is not part of the commit"
git rm -q "$(key_dir)approved.json"; echo 'policy = "approved"' >kscc.toml; git add kscc.toml; commit "Policy"; expect_status 0
echo 'policy = "explore"' >kscc.toml; git add kscc.toml; staged "Another policy" "certificate ${key:0:12} is not approved"
git rm -q kscc.toml; staged "No policy" "certificate ${key:0:12} is not approved"
git rm -q --cached kscc.toml; staged "A policy that stays here" "kscc.toml: is not part of the commit"
echo 'policy = explore' >kscc.toml; git add kscc.toml; staged "No TOML" "kscc.toml:1:"
git rm -rq .kscc; commit "No results"; expect_status 0
git reset -q --hard HEAD~2
# an object that builds elsewhere would put in place
kept=$(basename "$(key_dir)"kept-*.object); cp "$(key_dir)$kept" .
echo >>"$(key_dir)$kept"
hook kscc-check --files unit.cu; said "kept object '${kept%.object}.json' of ${key:0:12}: it is not the file that its record names; 'kscc approve ${key:0:12}' makes it again"
rm "$(key_dir)$kept"
hook kscc-check --files unit.cu; said "$kept'"
mv "$kept" "$(key_dir)"; mv "$(key_dir)${kept%.object}.json" record
hook kscc-check --files unit.cu; said "kept object '${kept%.object}.json' of ${key:0:12}: cannot open"
mv record "$(key_dir)${kept%.object}.json"
hook kscc-check --files unit.cu; expect_status 0
# an edit after the proof, a contract that is none
cp unit.cu before.cu
sed -i 's/+ 1.0f/+ 2.0f/' unit.cu; git add unit.cu
commit "Edit"; said "certificate ${key:0:12} of scale_shift is for another text of the file"
sed -i 's/dims  n=/dims  n:/' unit.cu; git add unit.cu
hook kscc-check; said "unit.cu:2:"
cp before.cu unit.cu; git add unit.cu
echo ' ' >>"$(key_dir)candidate.cu"
hook kscc-check --files unit.cu; said "candidate.cu' is not the file that the certificate names"
git rm -rqf .kscc; rm -rf .kscc
# the search: it shows what it found and leaves the source alone, or proposes it, and pre-commit stops for the change to be looked at
hook --hook-stage manual propose --files unit.cu; expect_status 0
grep -q '^+.*3.0f + 1.0f' out || fail "no diff is shown: $(cat out)"
expect_same unit.cu before.cu
hook --hook-stage manual rewrite --files unit.cu; said "unit.cu: scale_shift is rewritten"
expect_same unit.cu cand/1.cu
