# Trials as jobs of a real slurmctld with three slurmd on this machine: every trial has its verdict, also when a node is killed and jobs are taken
# away under them; one job a trial; nothing is left in the queue or in the folder, also after TERM and kill -9.  kscc queue shows the jobs,
# and whom the losses speak against; a node in quarantine gets none.  Trials that are submitted together are one array; where the nodes see no
# folder of ours the worker comes with sbcast; squeue may be without --json.
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

# three that wait for sbatch become one array, under a squeue that knows no --json; each task has its runner, and one that is not wanted ends alone
folder=$(ls -d "$PWD"/cache/kscc/slurm/worker-*) real=$(command -v squeue)
mkdir -p nojson; printf '#!/bin/sh\ncase "$*" in *--json*) echo "squeue: unrecognized option --json" >&2; exit 1 ;; esac\nexec %s "$@"\n' "$real" >nojson/squeue
chmod +x nojson/squeue
exec 8>cache/kscc/slurm/submit.lock; flock 8
for n in 1 2 3; do
  mkfifo steps$n
  PATH=$PWD/nojson:$PATH timeout 120 "$(dirname "$KSCC")/kscc-worker" slurm partition=p,time=7 0 "$folder" "$PWD/told$n" <steps$n >answers$n 2>relay$n.err 8>&- & relays="${relays:-} $!"
done
exec 4>steps1 5>steps2 6>steps3
for i in $(seq 600); do [ "$(ls cache/kscc/slurm/waiting | wc -l)" = 3 ] && break; sleep 0.05; done
exec 8>&-
for i in $(seq 600); do [ "$(ls cache/kscc/slurm/trial.*/bundle/result/alive 2>/dev/null | wc -l)" = 3 ] && break; sleep 0.1; done
[ "$(ls cache/kscc/slurm/trial.*/bundle/result/alive | wc -l)" = 3 ] || fail "not three runners: $("$real" -r) $(cat relay*.err)"
scontrol -o show jobs | sed -n 's/.*ArrayJobId=\([0-9]*\) ArrayTaskId=\([0-9-]*\) .*JobName=kscc.*/\1/p' >arrays
[ "$(wc -l <arrays)" = 3 ] && [ "$(sort -u arrays | wc -l)" = 1 ] || fail "not one array of three tasks: $(cat arrays) $(scontrol -o show jobs | grep RUNNING)"
scontrol -o show jobs | grep -c 'TimeLimit=00:07:00' | grep -qx 3 || fail "the jobs have another time limit: $(scontrol -o show jobs | grep RUNNING)"
for n in 1 2 3; do
  for i in $(seq 300); do grep -q '"RUNNING".*"n[123]"' told$n && break; sleep 0.1; done
  grep -qE '"job": ?"[0-9]+_[012]".*"RUNNING".*"n[123]"' told$n || fail "what is told of a task: $(cat told$n)"
done
exec 4>&-
for i in $(seq 300); do [ "$("$real" -h -r -t R | wc -l)" = 2 ] && break; sleep 0.1; done
[ "$("$real" -h -r -t R | wc -l)" = 2 ] || fail "the end of one ended others, or did not end it: $("$real" -r)"
exec 5>&- 6>&-
wait $relays; queue_empty
left=$(ls -d cache/kscc/slurm/waiting/* told* cache/kscc/slurm/log.* 2>/dev/null); [ -z "$left" ] || fail "left behind: $left"

# nodes that see no folder of ours
mkdir -p one; cp cand/2.cu one/; touch before
run timeout 300 "$KSCC" -O-agent --kscc-device=slurm:partition=p,files=sbcast,emulated --kscc-agent=file:one --kscc-dir=sent -c unit.cu -o sent.o
expect_status 0; expect_err "trial 1 (2.cu): accepted"; expect_err "emitted sent.o"
queue_empty
for i in $(seq 100); do [ -z "$(find /tmp -maxdepth 1 -name 'kscc-??????' -newer before)" ] && break; sleep 0.1; done
left=$(find /tmp -maxdepth 1 -name 'kscc-??????' -newer before -exec test -d {}/bin \; -print); [ -z "$left" ] || fail "left on the nodes: $left"
run timeout 60 "$KSCC" -O-agent --kscc-device=slurm:files=sbcast --kscc-agent=file:one --kscc-dir=kind -c unit.cu -o kind.o
expect_status 0; expect_file kind.o; expect_err "the kind has to be named"

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
