# The hooks with the real pre-commit on a real repository: what may be committed, and what may not, with the reason.
light
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
        args: [--in-place, --kscc-device=emulated, "--kscc-agent=file:cand", -O2]
        stages: [manual]
F
git add unit.cu .pre-commit-config.yaml
hook() { run timeout 300 pre-commit run "$@"; }
hook kscc-check
expect_status 0
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "emitted unit.o"
key=$(basename "$(key_dir)")
said() { expect_status 1; grep -qF -- "$1" out || { fail "pre-commit does not say: $1"; cat out; }; }
hook kscc-check; said "certificate ${key:0:12} is not approved (kscc approve ${key:0:12}), and with the policy 'explore' the candidate of scale_shift would ship"
echo 'policy = "approved"' >kscc.toml
hook kscc-check; expect_status 0
rm kscc.toml
"$KSCC" approve "$key" >/dev/null
hook kscc-check; expect_status 0
# an edit after the proof, a contract that is none
cp unit.cu before.cu
sed -i 's/+ 1.0f/+ 2.0f/' unit.cu; git add unit.cu
hook kscc-check; said "certificate ${key:0:12} of scale_shift is for another text of the file"
sed -i 's/dims  n=/dims  n:/' unit.cu; git add unit.cu
hook kscc-check; said "unit.cu:2:"
cp before.cu unit.cu; git add unit.cu
echo ' ' >>"$(key_dir)candidate.cu"
hook kscc-check; said "candidate.cu' is not the file that the certificate names"
rm -rf .kscc
# the search: it proposes, and pre-commit stops for the change to be looked at
hook --hook-stage manual kscc-optimize; said "unit.cu: scale_shift is rewritten"
expect_same unit.cu cand/1.cu
