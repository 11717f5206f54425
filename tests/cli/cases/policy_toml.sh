# kscc.toml: the policy by folder and by entry, the nearest file first; the command line before it, CI below it; mistakes with their place.
light
unit; good_candidate 1
mkdir -p repo/vendor/deep repo/own; touch repo/.git
mv unit.cu repo/own/; cp repo/own/unit.cu repo/vendor/; cp repo/own/unit.cu repo/vendor/deep/
cat >repo/kscc.toml <<'F'
policy = "approved"
[dir.vendor]
policy = "off"
[dir."vendor/deep"]
policy = "approved"
F
at() { local file=$1; shift; agent --kscc-agent=file:cand "$@" -c "$file" -o unit.o; expect_status 0; }
at repo/own/unit.cu;          expect_err "the policy is 'approved'"
at repo/vendor/unit.cu;       expect_err "policy is off for scale_shift (repo/kscc.toml:3), the baseline object stays"
at repo/vendor/deep/unit.cu;  expect_err "the policy is 'approved'"
# the command line comes first: for all, for a folder, for an entry
at repo/own/unit.cu --kscc-policy=explore,repo/own/=off;                      expect_err "policy is off for scale_shift, the"
at repo/own/unit.cu --kscc-policy=off,repo/own/=off,scale_shift=approved;     expect_err "the policy is 'approved'"
at repo/vendor/unit.cu --kscc-policy=off,another=explore;                     expect_err "policy is off for scale_shift, the"
KSCC_POLICY=approved at repo/vendor/unit.cu;                                  expect_err "the policy is 'approved'"
# an entry's table, nearer than the folder's above it
printf '[entry.scale_shift]\npolicy = "explore"\n' >repo/own/kscc.toml
at repo/own/unit.cu;          expect_err "emitted unit.o"
key=$(basename repo/own/.kscc/objects/*)
# a build server does not search because a file says so, and emits nothing that nobody approved
CI=true at repo/own/unit.cu;  expect_err "is not approved (kscc approve"
nm unit.o | grep -q kscc && fail "emitted in CI without an approval"
run "$KSCC" approve --kscc-dir=repo/own/.kscc "$key"
CI=true at repo/own/unit.cu;  expect_err "emitted unit.o"
printf '[entry.scale_shift]\npolicy = "off"\n' >repo/own/kscc.toml
CI=true at repo/own/unit.cu;  expect_err "policy is off for scale_shift (repo/own/kscc.toml:2)"
# a file that ends the way up
printf 'root = true\n' >repo/own/kscc.toml
at repo/own/unit.cu;          expect_err "emitted unit.o"
# mistakes: the place and a caret, and nvcc's object
wrong() { # wrong TEXT PLACE SENTENCE
  printf "$1" >repo/own/kscc.toml
  at repo/own/unit.cu
  expect_err "repo/own/kscc.toml:$2: error: $3"
  expect_err '^'
  expect_err "compiling with nvcc only"
  nm unit.o | grep -q kscc && fail "emitted with a kscc.toml that is $3"
}
wrong 'policy = "maybe"\n'                     1:10 'expected "explore", "approved" or "off"'
wrong '\n[entry.scale_shift]\npolicy = true\n' 3:10 'expected "explore", "approved" or "off"'
wrong 'polcy = "off"\n'                        1:9  "unknown key 'polcy', expected policy"
wrong 'policy = "off\n'                        1:14 ''
wrong 'root = "yes"\n'                         1:8  'expected true or false'
