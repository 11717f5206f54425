# Signed approvals: with allowed signers, only what one of them signed is emitted; every other case says why.
light kept
command -v ssh-keygen >/dev/null || skip "no ssh-keygen"
unit; good_candidate 1
for k in alice mallory; do ssh-keygen -q -t ed25519 -N '' -C "$k" -f "$k"; done
printf 'alice@example.org namespaces="kscc" %s\n' "$(cat alice.pub)" >signers
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "emitted unit.o"
key=$(basename "$(key_dir)")
printf 'allowed_signers = "signers"\n' >kscc.toml
ships() { CI=true agent -c unit.cu -o unit.o; expect_status 0; expect_err "emitted unit.o"; }
approve() { run "$KSCC" approve --no-kept "$@"; } # kept_elsewhere.sh has kept objects
stays() { # stays REASON [OPTION]: nothing is asked about objects kept before, unless the option says so
  CI=true agent "${2:---kscc-kept=off}" -c unit.cu -o unit.o
  expect_status 0
  expect_err "$1"
  expect_err "the baseline object stays"
  nm unit.o | grep -q kscc && fail "emitted though $1"
}
stays "certificate ${key:0:12} is not approved"
approve "$key"
stays "the approval of ${key:0:12} is not signed (kscc approve --sign=KEY ${key:0:12})"
approve --sign=mallory "$key"
expect_status 0
stays "the approval of ${key:0:12} is signed by nobody in '" --kscc-kept=on
approve --sign=alice "$key"
expect_status 0
grep -qF "approved $key, signed" out || fail "not said: $(cat out)"
ships
# a key out of its time; a signature or a list that has no end; a list is as good in a folder that moved
checked() { run timeout 60 "$KSCC" check unit.cu; expect_status 1; expect_err "$1"; }
cp signers listed; sed -i 's/namespaces/valid-before="20200101",&/' signers; checked "is signed by nobody in '$PWD/signers': its key has expired"
sed 's/namespaces/valid-after="20990101",&/' listed >signers; checked "': its key is not yet valid"
ln -sf /dev/zero signers; checked "the signature of ${key:0:12} cannot be checked: '$PWD/signers' is no plain file"
rm signers; cp listed signers; mv "$(key_dir)approved.json.sig" good.sig; ln -s /dev/zero "$(key_dir)approved.json.sig"
checked "approved.json.sig' is no plain file"
rm "$(key_dir)approved.json.sig"; mv good.sig "$(key_dir)approved.json.sig"
mkdir "mo'ved"; cp -r unit.cu kscc.toml signers .kscc "mo'ved"; cd "mo'ved" && run "$KSCC" check unit.cu; expect_status 0; cd ..
# another text under alice's signature
cp "$(key_dir)approved.json" good.json
sed -i 's/"approved_by":[^,]*/"approved_by": "mallory"/' "$(key_dir)approved.json"
stays "the signature of ${key:0:12} by alice@example.org does not hold"
cp good.json "$(key_dir)approved.json"; ships
echo ' ' >>"$(key_dir)certificate.json"
stays "certificate.json' was changed after it was written"
truncate -s -2 "$(key_dir)certificate.json"; ships
# a signature for something else than kscc
ssh-keygen -q -Y sign -f alice -n file "$(key_dir)approved.json" 2>/dev/null <<<y
printf 'alice@example.org %s\n' "$(cat alice.pub)" >signers
stays "the signature of ${key:0:12} by alice@example.org does not hold"
approve --sign=alice "$key"; ships
# approving anew takes the old signature away; revoking takes both
approve "$key"; stays "is not signed"
approve --sign=alice "$key"; run "$KSCC" revoke "$key"
expect_no_file "$(key_dir)approved.json.sig"
# a list that is not there, from the command line; a key that is not there
approve --sign=alice "$key"
CI=true agent --kscc-allowed-signers=nowhere -c unit.cu -o unit.o
expect_err "cannot find the allowed signers 'nowhere'"
cp "$(key_dir)"approved.json* .
approve --sign=nobody "$key"
expect_status 1
expect_err "cannot approve ${key:0:12}, nothing has changed: "
same_approval() { expect_same approved.json "$(key_dir)approved.json"; expect_same approved.json.sig "$(key_dir)approved.json.sig"; }
same_approval

# ---- kill -9 -----------------------------------------------------------------------------------------------------------------
# while it is signed: text and signature are the old ones, and hold
mkdir bin
printf '#!/bin/sh\ncase "$*" in *" -Y sign "*) kill -KILL $PPID; exit 1 ;; esac\nexec %q "$@"\n' "$(command -v ssh-keygen)" >bin/ssh-keygen
chmod +x bin/ssh-keygen
PATH="$PWD/bin:$PATH" approve --sign=alice "$key"
expect_status 137
same_approval
# at each rename and at each file that goes: what is there is what somebody made, or does not hold
holds() { ssh-keygen -q -Y verify -f signers -I alice@example.org -n kscc -s "$(key_dir)approved.json.sig" <"$(key_dir)approved.json" >/dev/null 2>&1; }
if strace -o /dev/null true 2>/dev/null; then
  died() { # died CALLS N COMMAND...: killed when it makes the Nth of those calls
    local calls=$1 n=$2; shift 2
    strace -o /dev/null -e "inject=$calls:signal=KILL:when=$n" "$KSCC" "$@" >out 2>err </dev/null; [ $? = 137 ]
  }
  n=1
  while died '?rename,?renameat' $n approve --no-kept --sign=alice "$key"; do
    if cmp -s approved.json "$(key_dir)approved.json" && cmp -s approved.json.sig "$(key_dir)approved.json.sig"; then old=$n; fi
    [ -s "$(key_dir)approved.json" ] && [ -s "$(key_dir)approved.json.sig" ] || fail "killed at rename $n: something is gone"
    rm -f "$(key_dir)"approved.json*; cp approved.json* "$(key_dir)"; n=$((n + 1))
  done
  [ "$n" -ge 4 ] && [ "${old:-0}" -ge 2 ] || fail "killed at $((n - 1)) renames, the old approval held up to ${old:-none}"
  holds || fail "the approval that nobody killed does not hold"
  died '?unlink,?unlinkat' 2 revoke "$key" || fail "revoke removes one file"
  expect_no_file "$(key_dir)approved.json"; expect_file "$(key_dir)approved.json.sig"
  run "$KSCC" revoke "$key"
  expect_status 1; expect_err "it is not approved"; expect_no_file "$(key_dir)approved.json.sig"
fi
# ---- one at a time -----------------------------------------------------------------------------------------------------------
exec 8>".kscc/locks/$key"; flock 8
"$KSCC" approve --no-kept --sign=alice "$key" >out 2>err </dev/null 8>&- & waits=$!
for i in $(seq 3000); do grep -q 'waiting: another kscc is at work on the same key' err && break; sleep 0.1; done
expect_err "waiting: another kscc is at work on the same key"
expect_no_file "$(key_dir)approved.json"
exec 8>&-; wait $waits || fail "it does not approve when the lock is free"
ships
