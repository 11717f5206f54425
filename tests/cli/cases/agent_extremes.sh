# With an agent asked for and nothing for it to do: as many arguments as there may be, no PATH, a folder that cannot be written to, make's
# jobserver, limits and niceness; status, both streams apart from our remark, and files are nvcc's.
echo '__global__ void k(float *p) { *p = 1; }' >a.cu
mkdir -p host
for c in gcc g++; do
  printf '#!/bin/bash\n[[ " $* " != *" -c "* ]] || { ulimit -c; ulimit -n; umask; nice; env | grep -vE "^(_|SHLVL|PWD|OLDPWD|WHO|CC|SWITCH)=" | sort; } >"$WHO.seen"\nexec /usr/bin/%s "$@"\n' $c >host/$c
  chmod +x host/$c
done
normal() { sed -E 's/tmpxft_[0-9a-f]{8}_[0-9a-f]{8}/T/g'; }
# same NAME COMMAND: runs it as WHO=want with CC=nvcc and as WHO=got with CC=kscc and the switch, which is empty for nvcc
same() {
  local name=$1
  rm -f a.o a.d
  (WHO=want CC=$REAL_NVCC SWITCH='' bash -c "$2") >want.out 2>want.err </dev/null; local want=$?
  if [ -e a.o ]; then normal <a.o >want.o; fi
  rm -f a.o a.d
  (WHO=got CC=$KSCC SWITCH='-O-agent --kscc-quiet' bash -c "$2") >got.out 2>got.all </dev/null; status=$?
  [ "$status" = "$want" ] || { fail "$name: status $status, nvcc's $want"; head -5 got.all; }
  grep -v "no workload" got.all | normal >got.err; normal <want.err >want.n; mv want.n want.err
  cmp -s want.out got.out || { fail "$name: stdout"; diff want.out got.out | head -5; }
  cmp -s want.err got.err || { fail "$name: stderr"; diff want.err got.err | head -5 | cut -c1-300; }
  if [ -e want.o ]; then
    normal <a.o >got.o; cmp -s want.o got.o || fail "$name: the object differs"
    rm -f want.o
  fi
}
export REAL_NVCC KSCC
same arguments 'export WHO; "$CC" $SWITCH $(seq -f "-DM%.0f" 60000) -c a.cu -o a.o'
same no_path 'export WHO; PATH= "$CC" $SWITCH -c a.cu -o a.o'
same settings 'export WHO; ulimit -c 0; ulimit -n 100; umask 027; exec nice -n 3 "$CC" $SWITCH -ccbin host -c a.cu -o a.o'
cmp -s want.seen got.seen || { fail "the host compiler sees another environment"; diff want.seen got.seen; }
printf 'a.o: a.cu\n\t+@"$(CC)" $(SWITCH) --jobserver -t 2 -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -c -o $@ a.cu\n' >Makefile
same jobserver 'export WHO SWITCH; make -s -j2 CC="$CC"'
sed -i 's/+@/@/' Makefile
same jobserver_missing 'export WHO SWITCH; make -s -j2 CC="$CC" 2>err.txt; e=$?; grep -v "^make" err.txt >&2; exit $e'
if [ "$(id -u)" != 0 ]; then
  mkdir ro; chmod 555 ro
  same read_only 'export WHO; "$CC" $SWITCH -c a.cu -o ro/a.o'
  chmod 755 ro
fi
same no_folder 'export WHO; "$CC" $SWITCH -c a.cu -o nofolder/a.o'
same no_tmp 'export WHO; TMPDIR=/nonexistent "$CC" $SWITCH -c a.cu -o a.o'
same children_ignored 'export WHO; python3 -c "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])" "$CC" $SWITCH -c a.cu -o a.o'
