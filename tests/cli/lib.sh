# Helpers of the command-line tests; sourced, not run.
check_failures=0
REAL_NVCC=${REAL_NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}

fail() { echo "check failed: $*"; check_failures=1; }
# run COMMAND...: keeps stdout in out, stderr in err, the status in $status
run() { "$@" >out 2>err </dev/null; status=$?; }
expect_status() { [ "$status" = "$1" ] || { fail "status $status, expected $1"; sed 's/^/  stderr: /' err | tail -20; }; }
expect_err() { grep -qF -- "$1" err || { fail "stderr lacks: $1"; sed 's/^/  stderr: /' err | tail -20; }; }
expect_no_err() { if grep -qF -- "$1" err; then fail "stderr has: $1"; sed 's/^/  stderr: /' err | tail -20; fi; }
expect_out() { grep -qF -- "$1" out || { fail "stdout lacks: $1"; head -20 out; }; }
expect_out_empty() { [ ! -s out ] || { fail "stdout is not empty"; head -5 out; }; }
expect_file() { [ -s "$1" ] || fail "no file $1"; }
expect_no_file() { [ ! -e "$1" ] || fail "there is a file $1"; }
expect_same() { cmp -s "$1" "$2" || { fail "$1 and $2 differ"; diff "$1" "$2" | head -8 | cut -c1-400; }; }
# expect_symbol OBJECT NAME: a defined text symbol
expect_symbol() { nm "$1" | grep -qE " T $2\$" || { fail "$1 does not define $2"; nm "$1" | head -30; }; }
skip() { echo "SKIP: $*"; exit 0; }

# A compiler that writes its argument vector to argv.log, its NVCC_* variables to env.log, and makes the -o file.
fake_nvcc() {
  mkdir -p "$1"
  cat >"$1/nvcc" <<'F'
#!/bin/bash
if [ "$1" = --version ]; then echo "nvcc: NVIDIA (R) Cuda compiler driver"; echo "Cuda compilation tools, release 13.0, V13.0.88"; exit 0; fi
{ printf '%s\n' "$0"; printf '[%s]\n' "$@"; } >>"${FAKE_LOG:-argv.log}"
env | grep ^NVCC_ | sort >env.log
status=${FAKE_STATUS:-0}
[ "$status" = 0 ] || exit "$status"
[ -z "${FAKE_SIGNAL:-}" ] || kill -"$FAKE_SIGNAL" $$
out=
while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift;; esac; shift; done
[ -z "$out" ] || echo object >"$out"
F
  chmod +x "$1/nvcc"
}

# ---- a small unit with a contract, and candidates for it ---------------------------------------------------------------
# Three passes over memory where one does: something to gain, quick to build and to emulate.
unit() {
  cat >unit.cu <<'F'
// kscc: entry scale_shift
// kscc: dims  n=1..65536
// kscc: in    x : float[n] ~ normal(0,1)
// kscc: out   y : float[n] rtol=1e-5 atol=1e-5
// kscc: time  n=65536
#include <cuda_runtime.h>
__global__ void scale(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] * 3.0f;
}
__global__ void shift(float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = y[i] + 1.0f;
}
extern "C" void scale_shift(const float *x, float *y, int n, cudaStream_t stream)
{
    scale<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
    shift<<<(n + 255) / 256, 256, 0, stream>>>(y, n);
}
F
}
# candidate NAME STATEMENT BODY: a text of the unit whose first kernel has BODY and whose second launch is gone
candidate() {
  mkdir -p cand
  { sed -n '/^\/\/ kscc:/p' unit.cu
    [ -z "$2" ] || echo "// kscc-propose: $2"
    echo '#include <cuda_runtime.h>'
    echo '__global__ void scale(const float *x, float *y, int n)'
    echo '{'
    echo '    int i = blockIdx.x * blockDim.x + threadIdx.x;'
    echo "    $3"
    echo '}'
    sed -n '/^__global__ void shift/,/^}/p' unit.cu
    sed -n '/^extern "C"/,/^}/p' unit.cu | grep -v 'shift<<<'
  } >"cand/$1.cu"
}
good_candidate() { candidate "$1" 'operator-boundary 1.8 y makes a round trip through memory between two launches' 'if (i < n) y[i] = x[i] * 3.0f + 1.0f;'; }
agent() { run timeout 300 "$KSCC" -O-agent --kscc-device=emulated "$@"; }
# For cases that are not about the compilations they make: of each, the headers of the default, C++17, are a third.  Nor about objects
# that are kept for later builds, unless they say so (`light kept`): of a build that emits, a sixth goes into asking what it was made of.
light() { export NVCC_PREPEND_FLAGS=-std=c++14; [ "${1:-}" = kept ] || export KSCC_KEPT=off; }
key_dir() { ls -d .kscc/objects/*/ | head -1; }
# side.cu: a program that tells by rounding which side a call took: the good candidate fuses x * 3 + 1, the original cannot.
# Prints "candidate" or "original" for n inside the domain (1000), outside it (5000), and inside with a pointer off by one element.
side_program() {
  cat >side.cu <<'F'
#include <cstdio>
extern "C" void scale_shift(const float *x, float *y, int n, cudaStream_t stream);
static const char *side(int n, int offset)
{
    float *x, *y, *h = new float[n + 64], *r = new float[n];
    for (int i = 0; i < n + 64; i++)
        h[i] = 0.1f + 0.0002f * (float)(i % 1000); /* products with more bits than the sums */
    cudaMalloc(&x, (n + 64) * 4);
    cudaMalloc(&y, (n + 64) * 4);
    cudaMemcpy(x, h, (n + 64) * 4, cudaMemcpyHostToDevice);
    scale_shift(x + offset, y, n, 0);
    if (cudaDeviceSynchronize() != cudaSuccess || cudaMemcpy(r, y, n * 4, cudaMemcpyDeviceToHost) != cudaSuccess)
        return "failed";
    int fused = 0, apart = 0, wrong = 0;
    for (int i = 0; i < n; i++) {
        float v = h[i + offset];
        volatile float product = v * 3.0f;
        float two = product + 1.0f, one = __builtin_fmaf(v, 3.0f, 1.0f);
        wrong += r[i] != two && r[i] != one;
        fused += r[i] == one && one != two;
        apart += r[i] == two && one != two;
    }
    return wrong ? "wrong" : fused && !apart ? "candidate" : apart && !fused ? "original" : "mixed";
}
int main() { printf("%s %s %s\n", side(1000, 0), side(5000, 0), side(1000, 1)); return 0; }
F
}
# expect_sides PROGRAM: candidate inside, original outside, on the emulated device
expect_sides() {
  run timeout 120 env LD_PRELOAD="$PROGRAM_PRELOAD" "$KSCC" run --kscc-device=emulated:sm_90a -- "$1"
  expect_status 0
  [ "$(cat out)" = "candidate original original" ] || { fail "$1: $(cat out)"; cat err; }
}

# ---- a model's endpoint (tests/agents/endpoint.py) --------------------------------------------------------------------
# endpoint PLAY: starts it; its port in port, its requests in requests.log, its input in descriptor 7
endpoint() {
  local i
  rm -f port requests.log endpoint.in; mkfifo endpoint.in; : >requests.log
  python3 "$SRC/tests/agents/endpoint.py" "$SRC/tests/agents/$1.py" port requests.log <endpoint.in >endpoint.out 2>&1 &
  endpoint_pid=$!
  exec 7>endpoint.in
  for i in $(seq 1200); do [ -s port ] && break; sleep 0.1; done
  [ -s port ] || { fail "the endpoint does not start"; cat endpoint.out; }
  export KSCC_ENDPOINT=http://127.0.0.1:$(cat port) KSCC_MODEL=test KSCC_AGENT=http no_proxy=127.0.0.1
}
endpoint_end() { exec 7>&-; wait "$endpoint_pid" 2>/dev/null; }

# ---- another machine: a real sshd on the loopback (openssh-server) ------------------------------------------------------
# sshd_start: an sshd of ours, and an ssh on PATH that reads our configuration: host `box` is it, with its cache and temporary
# folder in there/.  $sshd_pid: the listener.
sshd_start() {
  local port i server=/usr/sbin/sshd
  [ -x $server ] || { fail "no sshd: ./bootstrap installs openssh-server"; return; }
  [ "$(id -u)" != 0 ] || mkdir -p /run/sshd
  export XDG_CACHE_HOME=$PWD/here # what is known of the host
  mkdir -p ssh bin there/cache there/tmp
  ssh-keygen -q -t ed25519 -N '' -f ssh/host; ssh-keygen -q -t ed25519 -N '' -f ssh/user; ssh-keygen -q -t ed25519 -N '' -f ssh/stranger
  cp ssh/user.pub ssh/authorized
  for i in 1 2 3 4 5; do
    port=$((20000 + RANDOM % 30000))
    cat >ssh/sshd_config <<F
Port $port
ListenAddress 127.0.0.1
HostKey $PWD/ssh/host
AuthorizedKeysFile $PWD/ssh/authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
SetEnv XDG_CACHE_HOME=${1:-$PWD/there/cache} TMPDIR=$PWD/there/tmp
F
    $server -D -e -f "$PWD/ssh/sshd_config" 2>ssh/sshd.log & sshd_pid=$!
    for j in $(seq 1200); do grep -q 'Server listening' ssh/sshd.log && break 2; kill -0 $sshd_pid 2>/dev/null || break; sleep 0.1; done
  done
  echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 ssh/host.pub)" >ssh/known
  printf 'Host box\n  HostName 127.0.0.1\n  Port %s\n  User %s\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n' \
    "$port" "$(id -un)" "$PWD/ssh/user" "$PWD/ssh/known" >ssh/config
  printf '#!/bin/sh\nexec /usr/bin/ssh -F %s/ssh/config "$@"\n' "$PWD" >bin/ssh; chmod +x bin/ssh
  export PATH="$PWD/bin:$PATH" XDG_RUNTIME_DIR
  XDG_RUNTIME_DIR=$(mktemp -d /tmp/kscc-run.XXXXXX) # a socket's path is short
  trap sshd_stop EXIT
}
# sshd_drop: ends the server's side of every connection, as a network that goes away does; what ran there has to end by itself
sshd_drop() { local p; for p in $(pgrep -P "$sshd_pid"); do pkill -KILL -P "$p" sshd; kill -KILL "$p"; done 2>/dev/null; }
sshd_stop() {
  ssh -O exit -o ControlPath="$XDG_RUNTIME_DIR/kscc-ssh/%C" box >/dev/null 2>&1
  sshd_drop; kill "$sshd_pid" 2>/dev/null; wait "$sshd_pid" 2>/dev/null; rm -rf "$XDG_RUNTIME_DIR"
}
elsewhere() { run timeout 300 "$KSCC" -O-agent --kscc-device=ssh:box,emulated "$@"; }

# slurm_start N: a munged, a slurmctld and N slurmd of ours (nodes n1.. of this machine, partition p), and SLURM_CONF that names them; slurm_node N
# starts a slurmd, slurm_node_kill N ends one with its jobs, as a machine does.  All are children of this shell and end with slurm_stop.
slurm_start() {
  local i host port program
  for program in munged slurmctld slurmd sbatch squeue scancel; do
    command -v $program >/dev/null || skip "no $program (packages munge, slurmctld, slurmd, slurm-client)"
  done
  [ "$(id -u)" = 0 ] || skip "slurmd wants to be root"
  mkdir -p slurm/state; host=$(hostname); port=$((20000 + RANDOM % 10000))
  slurm_run=$(mktemp -d /run/kscc-slurm.XXXXXX); chmod 755 "$slurm_run" # munged wants a place that others cannot write to
  (umask 077; head -c 1024 /dev/urandom >slurm/munge.key)
  munged --foreground --force --key-file="$PWD/slurm/munge.key" --socket="$slurm_run/munge" --pid-file="$slurm_run/munge.pid" \
    --log-file="$PWD/slurm/munge.log" --seed-file="$slurm_run/seed" --num-threads=1 >slurm/munge.out 2>&1 & slurm_pids=$!
  cat >slurm/slurm.conf <<F
ClusterName=kscc
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm_run/munge
StateSaveLocation=$PWD/slurm/state
SlurmdSpoolDir=$PWD/slurm/spool-%n
SlurmctldPidFile=$slurm_run/ctld.pid
SlurmdPidFile=$slurm_run/%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=${slurm_node_timeout:-6}
KillWait=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=n[1-$1] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + $1))] CPUs=1 RealMemory=500 State=UNKNOWN
PartitionName=p Nodes=n[1-$1] Default=YES MaxTime=INFINITE State=UP
${slurm_conf_more:-}
F
  export SLURM_CONF=$PWD/slurm/slurm.conf
  for i in $(seq 600); do [ -S "$slurm_run/munge" ] && break; sleep 0.1; done
  slurmctld -D >slurm/ctld.log 2>&1 & slurm_pids="$slurm_pids $!"
  for i in $(seq "$1"); do slurm_node "$i"; done
  for i in $(seq 600); do [ "$(sinfo -h -N -t idle -o %N 2>/dev/null | wc -l)" = "$1" ] && return; sleep 0.1; done
  fail "the cluster does not come up: $(sinfo 2>&1; tail -n 3 slurm/ctld.log slurm/n1.log)"
}
slurm_node() { mkdir -p "slurm/spool-n$1"; slurmd -D -N "n$1" >>"slurm/n$1.log" 2>&1 & echo $! >"slurm/n$1.pid"; }
slurm_node_kill() {
  local p pid; pid=$(cat "slurm/n$1.pid")
  kill -9 "$pid" 2>/dev/null; wait "$pid" 2>/dev/null
  for p in $(pgrep -x slurmstepd); do grep -q "n$1" "/proc/$p/cmdline" 2>/dev/null && kill -9 "$p" 2>/dev/null; done
  for p in /proc/[0-9]*; do # the jobs' own
    grep -qz "^SLURM_CONF=$SLURM_CONF$" "$p/environ" 2>/dev/null && grep -qz "^SLURMD_NODENAME=n$1$" "$p/environ" 2>/dev/null && kill -9 "${p#/proc/}" 2>/dev/null
  done
}
slurm_stop() {
  local i
  [ -n "${slurm_run:-}" ] || return 0
  timeout 5 scancel -u root 2>/dev/null
  for i in slurm/n*.pid; do kill "$(cat "$i")" 2>/dev/null; wait "$(cat "$i")" 2>/dev/null; done
  kill $slurm_pids 2>/dev/null; wait $slurm_pids 2>/dev/null
  rm -rf "$slurm_run"; slurm_run=
}
