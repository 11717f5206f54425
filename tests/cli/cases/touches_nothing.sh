# A plain call opens no socket and touches no file that nvcc does not: the same names opened for writing, made, renamed or removed, by
# kscc itself none, and nothing of HOME is looked at.
command -v strace >/dev/null || skip "no strace here"
strace -o /dev/null true 2>/dev/null || skip "tracing is not allowed here"
echo '__global__ void k(float *p) { *p = 1; }' >a.cu
mkdir home tmp; export HOME=$PWD/home TMPDIR=$PWD/tmp
touched() { # touched COMPILER: what is written to, made or removed, and by system calls of the network
  rm -f a.o a.d
  strace -f -qq -e trace=%file,%network -o trace "$1" -MD -MF a.d -c a.cu -o a.o >/dev/null 2>&1
  grep -E 'O_(WRONLY|RDWR|CREAT)|\b(mkdir|rename|unlink|symlink|link|chmod|chown|truncate|mknod|rmdir|socket|connect|bind|sendto)[a-z0-9]*\(' trace |
    grep -v ENOENT | sed -E 's/^[0-9]+ +//; s/tmpxft_[0-9a-f]{8}_[0-9a-f]{8}/T/g; s#-[0-9a-f]{6}\.\.#-X..#g; s#/cc[A-Za-z0-9]{6}#/ccX#g; s/ = -?[0-9]+.*//; s/, 0x[0-9a-f]+//g' | sort -u
}
touched "$REAL_NVCC" >want
touched "$KSCC" >got
[ -s want ] || fail "strace saw nothing"
expect_same got want
grep -E 'socket\(|connect\(' trace && fail "a socket"
grep -F "\"$HOME" trace && fail "HOME is looked at"
# what kscc does before it is nvcc: up to the second execve
sed -n '1,/execve(.*nvcc", \["/p' trace | grep -E 'O_(WRONLY|RDWR|CREAT)' && fail "kscc opened a file for writing"
true
