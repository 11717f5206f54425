# Trials as jobs of a real slurmctld with three slurmd on this machine: every trial has its verdict, also when a node is killed and jobs are taken
# away under them; one job a trial; nothing is left in the queue or in the folder, also after TERM and kill -9.  kscc queue shows the jobs,
# and whom the losses speak against; a node in quarantine gets none.
light
slurm_start 3; trap slurm_stop EXIT
export XDG_CACHE_HOME=$PWD/cache TMPDIR=$PWD/tmp # a runner that is killed leaves its scratch folder there
mkdir -p tmp cache/kscc/devices
queue_empty() {
  local i
  for i in $(seq 600); do [ -z "$(squeue -h -o %A)" ] && [ -z "$(ls -d cache/kscc/slurm/trial.* 2>/dev/null)" ] && return; sleep 0.1; done
  fail "left behind: $(squeue -h) $(ls -d cache/kscc/slurm/trial.*)"
}
clustered() { timeout 300 "$KSCC" -O-agent --kscc-device=slurm:partition=p,emulated --kscc-agent=file:cand "$@" </dev/null; }
# queue_says PROGRAM: what Python makes of the answer q
queue_says() { "$KSCC" queue --json | python3 -c "import json, sys; q = json.load(sys.stdin); places = {p['place']: p for p in q['places']}; sys.exit(not ($1))"; }
printf '{"place":"slurm:n3","at":%d,"what":"null failed","aa":1.2,"why":"it is slow"}\n' "$(date +%s)" >cache/kscc/devices/slurm:n3.jsonl
unit; candidate 1 'compute 1.5 answers wrongly' 'if (i < n) y[i] = 1;'; good_candidate 2

# a node dies under a trial, then a job is taken away
clustered --kscc-dir=hurt -c unit.cu -o hurt.o >out 2>err & pid=$!
busy() { local i; for i in $(seq 400); do node=$(squeue -h -t R -o %N | head -1); [ -n "$node" ] && return; sleep 0.02; done; }
busy; hurt=$node
for i in $(seq 400); do queue_says 'any(r["doing"] == "the original" and r.get("job", {}).get("nodes") == "'$hurt'" for r in q["running"])' && break; sleep 0.05; done
"$KSCC" queue >q.out; grep -qE "the original, .* unit.cu: scale_shift  on slurm:partition=p, job [0-9]+ RUNNING on $hurt \(emulated sm_90a\)  pid " q.out ||
  fail "kscc queue: $(cat q.out)"
slurm_node_kill "${hurt#n}"; slurm_node "${hurt#n}"
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
scontrol -o show jobs | grep -E ' NodeList=[^ ]*n3' && fail "a node in quarantine was used"
queue_says 'places["slurm:'$hurt'"]["lost"] == 1 and sum(p["lost"] for p in q["places"]) == 1 and sum(p["trials"] for p in q["places"]) == 3 and not q["running"]' ||
  fail "what is known of places: $("$KSCC" queue)"
run "$KSCC" queue; grep -qE 'in quarantine for another 5[0-9] min [0-9]+ s: it is slow' out || fail "no quarantine: $(cat out)"
run "$KSCC" queue --release=slurm:n3; expect_status 0; queue_says 'not places["slurm:n3"]["in_quarantine"]' || fail "not released"
run "$KSCC" queue --release=slurm:n9; expect_status 1; expect_err "no place of that name"

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
