# What a plain call pays for: kscc needs no library where the system has a static libc, else libc alone; it looks for libraries where the
# system says and nowhere else, and is nvcc after few system calls.  None of the programs takes a library out of the current folder.
command -v readelf >/dev/null || skip "no readelf here"
for program in "$KSCC" "$KSCC-core" "$(dirname "$KSCC")/kscc-worker"; do
  readelf -d "$program" | sed -n 's/.*R[UN]*PATH.*\[\(.*\)\]/\1/p' | tr ':' '\n' >paths
  readelf -d "$program" | grep -E 'R(UN)?PATH' | grep -E '\[:|::|:\]' && fail "$program: an empty entry is the current folder"
  grep -vE '^(/|\$ORIGIN)' paths && fail "$program: a relative folder"
done
if [ -z "${KSCC_SANITIZER_RUNTIME:-}" ]; then
  readelf -d "$KSCC" >dynamic
  sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' dynamic | grep -vE '^(ld-linux.*|libc.so.6)$' && fail "kscc needs more than libc"
  grep -E 'R(UN)?PATH' dynamic && fail "kscc looks for libraries elsewhere"
  # what the loader says it says once, of nvcc: no descriptor left, nothing that may be preloaded, a libc that is none
  if echo 'int main(void) { return 0; }' | gcc -x c - -static-pie -o static 2>/dev/null; then
    mkdir broken; echo 'no library' >broken/libc.so.6
    for surroundings in 'ulimit -n 3' 'export LD_PRELOAD=/nonexistent.so' "export LD_LIBRARY_PATH=$PWD/broken" 'export LD_TRACE_LOADED_OBJECTS=1'; do
      (eval "$surroundings"; exec "$REAL_NVCC" --version) >want 2>&1; echo "status $?" >>want
      (eval "$surroundings"; exec "$KSCC" --version) >got 2>&1; echo "status $?" >>got
      sed -i 's/0x[0-9a-f]*/ADDRESS/' want got
      expect_same got want
    done
  fi
fi
command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null || skip "no tracing here"
# a library beside the sources is none of ours
echo 'no library' >libc.so.6
strace -qq -o trace "$KSCC" --version >out 2>err
expect_no_err error
n=$(grep -n 'execve(.*nvcc", \["/' trace | head -1 | cut -d: -f1)
[ -n "$n" ] || fail "no nvcc after kscc"
[ -n "${KSCC_SANITIZER_RUNTIME:-}" ] || [ "${n:-0}" -lt 120 ] || { fail "$n system calls before nvcc"; head -130 trace | cut -c1-120; }
# Lines that are none of the agent's are nvcc's at that cost, also where it is asked for everywhere.
echo 'int x;' >c.c; echo '__global__ void k() {}' >k.cu
for line in --version "-E c.c" "-c c.c" "-E k.cu" "-dryrun -c k.cu" "-MM k.cu"; do
  KSCC_O_AGENT=1 strace -qq -e trace=execve -o trace "$KSCC" $line >out 2>err
  grep -q 'kscc-core' trace && fail "'$line' loads kscc-core"
done
true
