# With an agent asked for: closed streams, nothing on stdout, a full disk, a folder without write permission, links, modes.
light
unit; good_candidate 1
a="$KSCC -O-agent --kscc-device=emulated --kscc-agent=file:cand --kscc-dir=$PWD/store"
$a -c unit.cu -o unit.o >out 2>err </dev/null
expect_out_empty
expect_err "emitted unit.o"
# each closed in turn, and all of them: nvcc's status, the same object, and no file of ours got the stream's number
for closing in '<&-' '>&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
  rm -f again.o plain.o
  eval "$REAL_NVCC -c unit.cu -o plain.o $closing" 2>err; want=$?
  eval "$a -c unit.cu -o again.o $closing" 2>err; status=$?
  expect_status $want
  [ $want = 0 ] || continue # nvcc cannot do without stdin
  expect_symbol again.o scale_shift
  nm again.o | grep -q kscc || fail "not emitted with $closing"
done
run "$KSCC" store verify --kscc-dir="$PWD/store"
expect_status 0
# the output: mode by umask, a symbolic link is followed, a hard link is not written through
rm -f plain.o; (umask 027; "$REAL_NVCC" -c unit.cu -o plain.o; $a -c unit.cu -o mode.o 2>err)
[ "$(stat -c %a mode.o)" = "$(stat -c %a plain.o)" ] || fail "mode $(stat -c %a mode.o), nvcc's $(stat -c %a plain.o)"
mkdir real; ln -s real/x.o link.o; echo old >hard.o; ln hard.o other.o
$a -c unit.cu -o link.o 2>err; [ -L link.o ] || fail "the link is gone"; nm real/x.o | grep -q kscc || fail "not emitted through a link"
$a -c unit.cu -o hard.o 2>err; [ "$(cat other.o)" = old ] || fail "written through a hard link"
$a -c unit.cu -o /dev/null 2>err; status=$?
expect_status 0
expect_err "not a regular file"
[ -c /dev/null ] || fail "/dev/null was replaced"
# no space for a second object: the baseline stays, whole
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=100k tmpfs small 2>/dev/null; then
  size=$(stat -c %s plain.o); head -c $((100000 - size - size / 2)) /dev/zero >small/filler
  $a -c unit.cu -o small/x.o >out 2>err </dev/null; status=$?
  expect_status 0
  expect_err "the baseline object stays"
  nm small/x.o >nm.txt 2>&1 || fail "the baseline object is broken"
  grep -q kscc nm.txt && fail "emitted where there is no space"
  [ "$(ls small | wc -l)" = 2 ] || fail "something was left beside the object: $(ls small)"
  umount small
else
  echo "note: no file system of a fixed size to be had here"
fi
