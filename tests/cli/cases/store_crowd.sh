# 64 at once on one store, entries added, collected, approved, taken back, and some killed with -9: no half record, and the store verifies.
light
unit; good_candidate 1
agent --kscc-agent=file:cand --kscc-dir=seed -c unit.cu -o unit.o
expect_err "emitted unit.o"
key=$(basename seed/objects/*)
run "$KSCC" store export seed.tar --kscc-dir=seed
expect_status 0
mkdir -p crowd/objects
act() { # act NUMBER: one of the things people do
  case $(($1 % 8)) in
  0 | 1 | 2) "$KSCC" store import seed.tar --with-approvals --kscc-dir=crowd ;;
  3) "$KSCC" store gc --max-size=1 --kscc-dir=crowd ;;
  4) "$KSCC" approve "$key" --kscc-dir=crowd ;;
  5) "$KSCC" revoke "$key" --kscc-dir=crowd ;;
  6) "$KSCC" store export "out$1.tar" "$key" --kscc-dir=crowd ;;
  7) CI=true timeout 300 "$KSCC" -O-agent --kscc-device=emulated --kscc-dir=crowd -c unit.cu -o "unit$1.o" ;;
  esac
}
for i in $(seq 64); do
  (act "$i" >"log$i" 2>&1) & p=$!
  # every fifth dies in the middle of whatever it does, with what it started
  [ $((i % 5)) != 0 ] || { sleep 0.05; pkill -KILL -P $p 2>/dev/null; }
done
wait
run "$KSCC" store verify --kscc-dir=crowd
expect_status 0
grep -q ', 0 bad' out || { fail "the store is damaged"; cat out; }
for d in crowd/objects/[0-9a-f]*; do
  [ ! -d "$d" ] || [ -s "$d/certificate.json" ] || fail "half a record: $d"
done
# every build left an object of nvcc's or a whole one of ours, and no archive is half written
for o in unit[0-9]*.o; do nm "$o" >/dev/null 2>&1 || fail "a broken object $o"; done
for t in out*.tar; do [ ! -e "$t" ] || tar -tf "$t" >/dev/null 2>&1 || fail "a broken archive $t"; done
# and it still serves
run "$KSCC" store import seed.tar --kscc-dir=crowd
run "$KSCC" approve "$key" --kscc-dir=crowd
expect_status 0
CI=true agent --kscc-dir=crowd -c unit.cu -o last.o
expect_err "emitted last.o"
