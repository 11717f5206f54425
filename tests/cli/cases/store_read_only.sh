# A store that can be read only still answers; what it does not hold is searched with a temporary one.
light
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
