# With an agent asked for, the baseline's compilation ends by a signal as nvcc's does, alone or in its group, and nothing lives on.
light
echo '__global__ void k(float *p) { *p = 1; }' >a.cu
# a host compiler that is busy until it is let go on, once: at the last compilation, or at the first look at the source, which costs
# less (nvcc asks it for its properties before, another way)
mkdir host
for c in gcc g++; do
  printf '#!/bin/sh\ncase " $* " in *"$STALL"*) [ -e "$WORK/started" ] || { : >"$WORK/started"; for i in $(seq 1200); do [ ! -e "$WORK/sent" ] || break; sleep 0.05; done; } ;; esac\nexec /usr/bin/%s "$@"\n' $c >host/$c
  chmod +x host/$c
done
# ended FOLDER WHO SIGNAL COMMAND...: sends the signal while the host compiler is busy; prints how the command ended
ended() {
  local work=$PWD/$1 who=$2 signal=$3; shift 3
  mkdir -p "$work/tmp"
  # INT and QUIT as a shell's foreground job has them
  STALL=$STALL WORK=$work TMPDIR=$work/tmp setsid env --default-signal=INT,QUIT "$@" -ccbin "$PWD/host" >/dev/null 2>&1 </dev/null & local p=$!
  local i; for i in $(seq 3000); do [ -e "$work/started" ] && break; sleep 0.02; done
  if [ "$who" = group ]; then kill -"$signal" -- -$p; else kill -"$signal" $p; fi
  case $who$signal in *WINCH | processINT | processQUIT) : >"$work/sent" ;; esac # the compiler lives on
  wait $p 2>/dev/null; local st=$?
  for i in $(seq 1500); do pgrep -g $p -x nvcc >/dev/null || break; sleep 0.02; done
  local alive=gone; pgrep -g $p -x nvcc >/dev/null && alive=lives
  kill -KILL -- -$p 2>/dev/null
  while pgrep -g $p -r R,S,D,T >/dev/null; do sleep 0.02; done
  echo "status $st, object $([ -e "$work/a.o" ] && echo there || echo missing), nvcc $alive"
}
compare() { # compare WHO SIGNAL
  ended "nvcc.$1.$2" $1 $2 "$REAL_NVCC" -c a.cu -o "nvcc.$1.$2/a.o" >"want.$1.$2"
  ended "kscc.$1.$2" $1 $2 "$KSCC" -O-agent -c a.cu -o "kscc.$1.$2/a.o" >"got.$1.$2"
}
compare_all() { # compare_all SIGNAL...: two at a time
  local signal who
  for signal in "$@"; do
    compare group $signal & compare process $signal & wait
  done
  for who in group process; do
    for signal in "$@"; do
      cmp -s want.$who.$signal got.$who.$signal || fail "$signal to the $who: nvcc: $(cat want.$who.$signal); kscc: $(cat got.$who.$signal)"
    done
  done
}
STALL=' -c ' compare_all INT QUIT TERM HUP KILL
STALL=a.cu compare_all PIPE USR1 ALRM ABRT SEGV ILL TRAP BUS FPE USR2 STKFLT VTALRM PROF XCPU XFSZ IO PWR SYS RTMIN RTMAX WINCH
grep -l 'status 0' got.group.* got.process.* | sort | tr '\n' ' ' >lived
[ "$(cat lived)" = 'got.group.WINCH got.process.INT got.process.QUIT got.process.WINCH ' ] || fail "others lived: $(cat lived)"
