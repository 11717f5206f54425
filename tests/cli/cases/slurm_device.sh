# Trials as jobs of a real slurmctld with three slurmd on this machine: every trial has its verdict, also when a node is killed and jobs are taken
# away under them; one job a trial; nothing is left in the queue or in the folder, also after TERM and kill -9.
light
slurm_start 3; trap slurm_stop EXIT
export XDG_CACHE_HOME=$PWD/cache
queue_empty() {
  local i
  for i in $(seq 150); do [ -z "$(squeue -h -o %A)" ] && [ -z "$(ls -d cache/kscc/slurm/trial.* 2>/dev/null)" ] && return; sleep 0.1; done
  fail "left behind: $(squeue -h) $(ls -d cache/kscc/slurm/trial.*)"
}
clustered() { timeout 300 "$KSCC" -O-agent --kscc-device=slurm:partition=p,emulated --kscc-agent=file:cand "$@" </dev/null; }
unit; candidate 1 'compute 1.5 answers wrongly' 'if (i < n) y[i] = 1;'; good_candidate 2

# a node dies under a trial, then a job is taken away
clustered --kscc-dir=hurt -c unit.cu -o hurt.o >out 2>err & pid=$!
busy() { local i; for i in $(seq 400); do node=$(squeue -h -t R -o %N | head -1); [ -n "$node" ] && return; sleep 0.02; done; }
busy; slurm_node_kill "${node#n}"; slurm_node "${node#n}"
sleep 1; busy; scancel --state=R -u root
wait $pid; status=$?
expect_status 0; expect_out_empty
expect_err "trial 1 (1.cu): rejected by numerics"
expect_err "trial 2 (2.cu): accepted"
expect_err "emitted hurt.o"
n=$(wc -l <hurt/objects/*/journal.jsonl)
[ "$n" = 3 ] || fail "$n verdicts"
grep -q 'where.*"slurm:partition=p"' hurt/objects/*/certificate.json || fail "the certificate does not say where"
jobs=$(scontrol -o show jobs | grep -c JobName=kscc)
[ "$jobs" -ge 5 ] || fail "$jobs jobs: not one each for the original, two trials, the confirmation, and at least one that was lost"
queue_empty

# what was asked for is not there; TERM and kill -9 while a job waits
run timeout 60 "$KSCC" -O-agent --kscc-device=slurm:partition=none,emulated --kscc-agent=file:cand --kscc-dir=none -c unit.cu -o none.o
expect_status 0; expect_file none.o; expect_err "sbatch takes no job"; expect_err "invalid partition"
run "$KSCC" -O-agent '--kscc-device=slurm:partition=a;b' -c unit.cu -o bad.o
expect_err "expected auto, cuda, emulated"
scontrol update PartitionName=p State=DOWN
for how in TERM KILL; do # INT is ignored by what a script starts in the background
  "$KSCC" -O-agent --kscc-device=slurm:partition=p,emulated --kscc-agent=file:cand --kscc-dir=stop$how -c unit.cu -o stop.o >out 2>err </dev/null & pid=$!
  for i in $(seq 400); do [ -n "$(squeue -h -t PD -o %A)" ] && break; sleep 0.05; done
  [ -n "$(squeue -h -t PD -o %A)" ] || fail "no job waits"
  kill -$how $pid
  wait $pid; status=$?
  [ $how = KILL ] || { expect_status 0; expect_file stop.o; expect_err "stopped while it was waited for"; }
  queue_empty
done
slurm_stop
