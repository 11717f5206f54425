# The scratch folder of a search that was killed is removed by a later one; what is held, young or a link is not.
light kept
mkdir tmp victim; echo x >victim/file
export TMPDIR=$PWD/tmp
unit; good_candidate 1
"$KSCC" -O-agent --kscc-device=emulated --kscc-agent=file:cand -c unit.cu -o unit.o >out 2>err </dev/null & pid=$!
for i in $(seq 3000); do compgen -G 'tmp/kscc-work.*/*' >/dev/null && break; sleep 0.1; done
kill -KILL $pid; wait $pid 2>/dev/null
left=$(compgen -G 'tmp/kscc-work.*')
[ -d "$left" ] || fail "the killed run left nothing to look at"
mkdir tmp/kscc-work.held tmp/kscc-work.young tmp/kscc-prelude.old
ln -s "$PWD/victim" tmp/kscc-work.link
for i in $(seq 100); do rm -rf "$left"/* 2>/dev/null; sleep 0.1; compgen -G "$left/*" >/dev/null || break; done # nvcc may still write
echo x >"$left/file"
# every kind that there is
for p in $(grep -oh 'ks_work_dir_open("[a-z-]*' "$SRC"/driver/*.c | cut -d'"' -f2 | sort -u); do mkdir "tmp/$p.killed"; touch -d '10 minutes ago' "tmp/$p.killed"; done
touch -d '10 minutes ago' "$left" tmp/kscc-work.held tmp/kscc-prelude.old victim
exec 9<tmp/kscc-work.held; flock 9
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "emitted unit.o"
expect_no_file "$left"
expect_no_file tmp/kscc-prelude.old
compgen -G 'tmp/*.killed' && fail "scratch folders of killed runs stay"
[ -d tmp/kscc-work.held ] || fail "a folder in use was removed"
[ -d tmp/kscc-work.young ] || fail "a young folder was removed"
expect_file victim/file
[ -L tmp/kscc-work.link ] || fail "a link was removed"
