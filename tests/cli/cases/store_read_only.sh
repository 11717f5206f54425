# A store that can be read only still answers; what it does not hold is searched with a temporary one.
light kept
unit; good_candidate 1
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "emitted unit.o"
as=
if [ "$(id -u)" = 0 ]; then # permissions do not bind root
  command -v setpriv >/dev/null || skip "no setpriv"
  chmod 755 ../ ; chmod 777 . ; rm unit.o
  as="setpriv --reuid=65534 --regid=65534 --clear-groups"
  $as test -r "$KSCC" -a -r unit.cu || skip "another user cannot read the files"
fi
chmod -R a-w .kscc
# the other user's own store above this one: what this one holds is emitted, what it does not is searched for and kept in their own
theirs() { run $as timeout 300 "$KSCC" -O-agent --kscc-device=emulated --kscc-agent=file:cand --kscc-dir=own --kscc-shared-dir=.kscc "$@" -c unit.cu -o unit.o; expect_status 0; expect_err "emitted unit.o"; }
find .kscc | sort | xargs stat -c '%n %s %y' >before
theirs
expect_err ".kscc/objects/$(basename "$(key_dir)")/certificate.json"; expect_no_err "trial 1"
theirs -DOTHER
expect_err "trial 1"; expect_err "certificate: own/objects/"
[ "$(ls own/objects | wc -l)" = 1 ] || fail "their store has $(ls own/objects | wc -l) results"
run "$KSCC" store verify --kscc-dir=own
expect_status 0; grep -q '^1 certificate good, 0 bad' out || fail "their store: $(cat out)"
[ -z "$as" ] || [ "$(stat -c %u own/objects/*/certificate.json)" = 65534 ] || fail "not written by the other user"
# a folder of which something cannot be removed at once, as on network file systems: collected all the same, and not seen again
none=own/objects/$(printf '%064d' 0)
$as mkdir -p "$none/sub" && $as touch "$none/sub/busy" && $as chmod 555 "$none/sub"
run $as "$KSCC" store gc --kscc-dir=own
expect_status 0; grep -q '^1 removed.* 1 kept' out || fail "gc: $(cat out err)"
expect_no_file "$none"
chmod -R u+w own
find .kscc | sort | xargs stat -c '%n %s %y' >after
expect_same before after # read, and nothing else
rm -f unit.o
# what was kept can be read
run $as timeout 300 "$KSCC" -O-agent --kscc-device=emulated --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "emitted unit.o"
expect_no_err "temporary store"
chmod u+w .kscc; chmod -R u+w .kscc/cache; rm -rf .kscc/cache unit.o; chmod u-w .kscc
run $as timeout 300 "$KSCC" -O-agent --kscc-device=emulated --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "looking up there and searching with a temporary store"
expect_err "from the store"
expect_no_err "trial 1"
expect_err "emitted unit.o"
run $as timeout 300 "$KSCC" -O-agent --kscc-device=emulated --kscc-agent=file:cand -DOTHER -c unit.cu -o unit.o
expect_err "trial 1"
expect_err "certificate: not kept"
