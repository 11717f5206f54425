# Signed approvals: with allowed signers, only what one of them signed is emitted; every other case says why.
light
command -v ssh-keygen >/dev/null || skip "no ssh-keygen"
unit; good_candidate 1
for k in alice mallory; do ssh-keygen -q -t ed25519 -N '' -C "$k" -f "$k"; done
printf 'alice@example.org namespaces="kscc" %s\n' "$(cat alice.pub)" >signers
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "emitted unit.o"
key=$(basename "$(key_dir)")
printf 'allowed_signers = "signers"\n' >kscc.toml
ships() { CI=true agent -c unit.cu -o unit.o; expect_status 0; expect_err "emitted unit.o"; }
stays() { # stays REASON
  CI=true agent -c unit.cu -o unit.o
  expect_status 0
  expect_err "$1"
  expect_err "the baseline object stays"
  nm unit.o | grep -q kscc && fail "emitted though $1"
}
stays "certificate ${key:0:12} is not approved"
run "$KSCC" approve "$key"
stays "the approval of ${key:0:12} is not signed (kscc approve --sign=KEY ${key:0:12})"
run "$KSCC" approve --sign=mallory "$key"
expect_status 0
stays "the approval of ${key:0:12} is signed by nobody in '"
run "$KSCC" approve --sign=alice "$key"
expect_status 0
grep -qF "approved $key, signed" out || fail "not said: $(cat out)"
ships
# another text under alice's signature
cp "$(key_dir)approved.json" good.json
sed -i 's/"approved_by":[^,]*/"approved_by": "mallory"/' "$(key_dir)approved.json"
stays "the signature of ${key:0:12} by alice@example.org does not hold"
cp good.json "$(key_dir)approved.json"; ships
echo ' ' >>"$(key_dir)certificate.json"
stays "is not approved"
truncate -s -2 "$(key_dir)certificate.json"; ships
# a signature for something else than kscc
ssh-keygen -q -Y sign -f alice -n file "$(key_dir)approved.json" 2>/dev/null <<<y
printf 'alice@example.org %s\n' "$(cat alice.pub)" >signers
stays "the signature of ${key:0:12} by alice@example.org does not hold"
run "$KSCC" approve --sign=alice "$key"; ships
# approving anew takes the old signature away; revoking takes both
run "$KSCC" approve "$key"; stays "is not signed"
run "$KSCC" approve --sign=alice "$key"; run "$KSCC" revoke "$key"
expect_no_file "$(key_dir)approved.json.sig"
# a list that is not there, from the command line; a key that is not there
run "$KSCC" approve --sign=alice "$key"
CI=true agent --kscc-allowed-signers=nowhere -c unit.cu -o unit.o
expect_err "cannot find the allowed signers 'nowhere'"
run "$KSCC" approve --sign=nobody "$key"
expect_status 1
expect_err "but cannot sign it"
