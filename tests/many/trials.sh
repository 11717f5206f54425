#!/usr/bin/env bash
# Many trials at once.  usage: trials.sh BUILD slurm [TRIALS] | BUILD sessions [TRIALS] [SECONDS]
#
#   slurm     TRIALS (200) on a real slurmctld with three slurmd of this machine, one session for each, while every 20 s a node is killed
#             or drained, or the controller killed.  A runner that sleeps 4 s, and beats meanwhile as one at work does, stands for a GPU's
#             time, so that not this machine's processors are measured.  The ideal is what one session takes for a trial on the quiet
#             cluster, times TRIALS, by three.  Two ratios are printed: to that ideal, and to the ideal of the nodes that there were: the
#             time in which a node was drained without a job, or dead and not restarted, is nobody's.  Nothing else is taken off: neither
#             the trials that died with a node, nor the time until that was noticed, nor the controller's.
#   sessions  throughput with 1 to 8 sessions, each at a place that sleeps SECONDS (2) for each trial, TRIALS (8) for each session
#
# Prints a table; what it was like around it (load) stands in its head.  docs/results/many_slurm.txt and many_sessions.tsv are such tables.
set -u
BUILD=$(realpath "$1"); what=$2; SRC=$(realpath "$(dirname "$0")/../..")
many=$BUILD/tests/many_trials KSCC=$BUILD/bin/kscc
T=$(mktemp -d "${TMPDIR:-/tmp}/kscc-many.XXXXXX") || exit 2
cd "$T" || exit 2
. "$SRC/tests/cli/lib.sh"
export XDG_CACHE_HOME=$T/cache TMPDIR=$T/tmp
mkdir -p tmp
head_lines() { echo "# tests/many/trials.sh BUILD $*"; echo "# $(nproc) processors; load $(cut -d' ' -f1-3 /proc/loadavg); nice $(nice); commit $(git -C "$SRC" rev-parse --short HEAD)"; }
field() { python3 -c 'import json, sys; print(json.loads([l for l in open(sys.argv[1]) if "\"sessions\"" in l][-1])[sys.argv[2]])' "$1" "$2"; }

if [ "$what" = sessions ]; then
  trials=${3:-8} seconds=${4:-2}
  trap 'rm -rf "$T"' EXIT
  head_lines sessions "$trials" "$seconds"
  echo "# a trial sleeps $seconds s; per session $trials of them; parent: processor time of the judging process, without workers and builds"
  printf 'sessions\ttrials\twall_s\ttrials_per_s\tof_ideal\tparent_cpu_s_per_trial\n'
  for n in 1 2 3 4 5 6 7 8; do
    "$many" $((n * trials)) "$n" sleep "$seconds" >out || { fail "$n sessions"; cat out; continue; }
    python3 - "$n" "$trials" "$seconds" "$(field out wall_s)" "$(field out parent_cpu_s_per_trial)" <<'P'
import sys
n, trials = int(sys.argv[1]), int(sys.argv[2])
seconds, wall, cpu = map(float, sys.argv[3:])
print(n, n * trials, f"{wall:.1f}", f"{n * trials / wall:.3f}", f"{seconds * trials / wall:.2f}", f"{cpu:.4f}", sep="\t")
P
  done
  exit $check_failures
fi

trials=${3:-200}
slurm_node_timeout=30 # on a busy machine a slurmd may be silent for a while
mkdir -p bin lib/emulated; ln -s "$BUILD"/lib/emulated/libcudart.so.13 lib/emulated/
cat >bin/kscc-worker <<F
#!/bin/sh
if [ "\$1" = run ]; then
  mkdir -p "\$2/result"
  for i in 1 2 3 4 5 6 7 8; do echo "\$i" >"\$2/result/alive"; sleep 0.5; done
fi
exec "$BUILD/bin/kscc-worker" "\$@"
F
chmod +x bin/kscc-worker
drained() { # a node for 6 s; prints the tenths of a second in which it was idle
  local i idle=0
  scontrol update NodeName=n$1 State=DRAIN Reason=test
  for i in $(seq 30); do [ "$(sinfo -h -n n$1 -o %T)" != drained ] || idle=$((idle + 2)); sleep 0.2; done
  scontrol update NodeName=n$1 State=RESUME
  echo $idle
}
disturb() { # a node in turn: killed and restarted at once, drained for a while, killed and away for a while
  local k=0 n
  while sleep 20; [ ! -e over ]; do
    n=$((k % 3 + 1))
    case $((k % 4)) in
    0) slurm_node_kill $n; slurm_node $n; echo "0 n$n killed and restarted at once" ;;
    1) echo "$(drained $n) n$n drained for 6 s" ;;
    2) slurm_node_kill $n; sleep 6; slurm_node $n; echo "60 n$n killed and away for 6 s" ;;
    3) kill -KILL "$(cat "$slurm_run/ctld.pid")"; sleep 2; slurmctld -D >>slurm/ctld.log 2>&1 & echo "0 slurmctld killed, and restarted after 2 s" ;;
    esac
    k=$((k + 1))
  done
}
slurm_start 3
end() { # the controller may be another one by now than slurm_start's
  : >over; [ -z "$disturber" ] || wait "$disturber" 2>/dev/null
  ctld=$(cat "$slurm_run/ctld.pid"); slurm_stop; kill "$ctld" 2>/dev/null; rm -rf "$T"
}
trap end EXIT
disturber=
head_lines slurm "$trials"
"$many" 9 1 slurm partition=p,time=20 "$T/bin" >quiet || { fail "the quiet cluster"; cat quiet; exit 1; }
disturb >disturbed & disturber=$!
"$many" "$trials" 3 slurm partition=p,time=20 "$T/bin" >verdicts 2>said; status=$?
: >over; wait $disturber 2>/dev/null
[ $status = 0 ] || fail "status $status: $(cat said)"
jobs=$(scontrol -o show jobs | grep -c JobName=kscc)
tail -1 verdicts
echo "load at the end: $(cut -d' ' -f1-3 /proc/loadavg)"
python3 - "$(field quiet wall_s)" "$(field verdicts wall_s)" "$trials" <<'P'
import sys
one, wall, trials = float(sys.argv[1]) / 9, float(sys.argv[2]), int(sys.argv[3])
away = sum(float(l.split()[0]) for l in open("disturbed")) / 10
ideal = one * trials / 3
print(f"one session on the quiet cluster: {one:.2f} s a trial; ideal with three: {ideal:.1f} s; it took {wall:.1f} s: {wall / ideal:.3f} x the ideal")
print(f"nodes were away for {away:.0f} s of {3 * wall:.0f}: {(wall - away / 3) / ideal:.3f} x the ideal of the nodes that there were")
P
echo "what was done meanwhile:"; sed 's/^[0-9]* /  /' disturbed | sort | uniq -c
echo "jobs that the controller still knows: $jobs"
python3 - <<'P'
import collections, json
rows = [json.loads(l) for l in open("verdicts")]
rows = [r for r in rows if "trial" in r]
print(f"verdicts: {len(rows)}, different trials: {len({r['trial'] for r in rows})}; by session: {sorted(collections.Counter(r['session'] for r in rows).items())}")
P
"$KSCC" queue | sed -n '/known/,$p'
exit $check_failures
