# CROWD builds at once on one store (12; the issue's 64 by `CROWD=64 tests/cli/run.sh build/bin/kscc . '^store_crowd$'`), while as many
# others import, collect, approve, take back and export, every fifth build and every seventh of the rest killed with -9: no half record,
# every object whole, and the store verifies and serves.  CROWD_OUT: a table of what was counted goes there.
light kept
crowd=${CROWD:-12}
unit; good_candidate 1
agent --kscc-agent=file:cand --kscc-dir=seed -c unit.cu -o unit.o
expect_err "emitted unit.o"
key=$(basename seed/objects/*)
run "$KSCC" approve "$key" --kscc-dir=seed
run "$KSCC" store export seed.tar --kscc-dir=seed
expect_status 0
mkdir -p crowd/objects
"$KSCC" store import seed.tar --with-approvals --kscc-dir=crowd >/dev/null || fail "no import"
build() { CI=true exec "$KSCC" -O-agent --kscc-device=emulated --kscc-dir=crowd -c unit.cu -o "unit$(($1 % 4)).o"; }
keep() { # keep NUMBER: one of the things people do
  case $(($1 % 8)) in
  0 | 1 | 2) exec "$KSCC" store import seed.tar --with-approvals --kscc-dir=crowd ;;
  3) exec "$KSCC" store gc --kscc-dir=crowd ;;
  4) exec "$KSCC" approve --no-kept "$key" --kscc-dir=crowd ;;
  5) exec "$KSCC" store gc --max-size=1 --kscc-dir=crowd ;; # everything that nobody approved
  6) "$KSCC" revoke "$key" --kscc-dir=crowd # not for long: most of the builds shall find it approved
     [ $(($1 % 16)) != 14 ] || "$KSCC" store gc --max-size=1 --kscc-dir=crowd
     "$KSCC" store import seed.tar --with-approvals --kscc-dir=crowd # where it is still there, nothing is taken over
     exec "$KSCC" approve --no-kept "$key" --kscc-dir=crowd ;;
  7) exec "$KSCC" store export "out$1.tar" "$key" --kscc-dir=crowd ;;
  esac
}
victims= begin=$(date +%s)
for i in $(seq "$crowd"); do
  (build "$i") >"log$i" 2>&1 & p=$!
  [ $((i % 5)) != 0 ] || victims="$victims $p"
  (keep "$i") >"kept$i" 2>&1 & p=$!
  [ $((i % 7)) != 0 ] || victims="$victims $p"
done
killed=0
for p in $victims; do sleep 0.1; kill -KILL "$p" 2>/dev/null && killed=$((killed + 1)); done
wait
took=$(($(date +%s) - begin))
run "$KSCC" store verify --kscc-dir=crowd
expect_status 0
verified=$(tail -n 1 out)
grep -q ', 0 bad' out || { fail "the store is damaged"; cat out; }
for d in crowd/objects/[0-9a-f]*; do
  [ ! -d "$d" ] || [ -s "$d/certificate.json" ] || fail "half a record: $d"
done
for d in crowd/cache/[0-9a-f]*; do
  [ ! -d "$d" ] || [ -s "$d/entry.json" ] || fail "half an object: $d"
done
# what was not killed came to an end, with an object of nvcc's or a whole one of ours, and no archive is half written
ended=$(grep -lE 'kscc: emitted|the baseline object stays' log* | wc -l)
[ "$ended" -ge $((crowd - crowd / 5 - crowd / 10)) ] || { fail "only $ended of $crowd builds came to an end"; tail -n 3 log*; }
emitted=$(grep -l 'kscc: emitted' log* | wc -l)
[ "$emitted" -ge 1 ] || fail "no build emitted a candidate"
for o in unit[0-9].o; do nm "$o" >/dev/null 2>&1 || fail "a broken object $o"; done
for t in out*.tar; do [ ! -e "$t" ] || tar -tf "$t" >/dev/null 2>&1 || fail "a broken archive $t"; done
# and it still serves
run "$KSCC" store import seed.tar --with-approvals --kscc-dir=crowd
run "$KSCC" approve --no-kept "$key" --kscc-dir=crowd
expect_status 0
CI=true agent --kscc-dir=crowd -c unit.cu -o last.o
expect_err "emitted last.o"
[ -z "${CROWD_OUT:-}" ] || cat >"$CROWD_OUT" <<F
# Builds on one store at once, beside as many imports, gc, approvals, revocations and exports; some of both killed with -9.
# half_records: folders without a whole certificate or cache entry; broken: objects and archives; serves: a build after it all emits.
# $(date +%F), $("$REAL_NVCC" --version | sed -n 's/.*V\([0-9.]*\)$/nvcc \1/p'), $(nproc) CPUs, commit $(git -C "$SRC" rev-parse --short HEAD 2>/dev/null || echo unknown)
# CROWD=$crowd CROWD_OUT=FILE tests/cli/run.sh KSCC . '^store_crowd$'
builds	keepers	killed	ended	emitted	seconds	verify	half_records_and_broken	serves
$crowd	$crowd	$killed	$ended	$emitted	$took	$verified	$([ "$check_failures" = 0 ] && echo none || echo see above)	$(grep -c 'emitted last.o' err)
F
echo "$ended of $crowd builds ended, $emitted emitted"
