# Sourced first by a script that starts programs in the background:  . own_group.sh "$0" "$@"
# The script then runs once more, as a child that leads a process group of its own, and this one waits for it.  When the script ends, by
# itself or by a signal, what it started is ended with it: TERM, after three seconds KILL.  When this one is killed by -9 (`timeout -k`),
# a watcher in the group sees to it within a second or two.  Exit status: the script's, or 128 + the signal's number.
if [ -z "${KSCC_OWN_GROUP:-}" ]; then
    leader=
    end_group() {
        trap '' TERM INT HUP
        [ -n "$leader" ] || return 0
        kill -TERM -- "-$leader" 2>/dev/null || return 0
        for _ in {1..30}; do
            # alive, and not a zombie that nobody waits for
            grep -qsE "^[0-9]+ \(.*\) [^ZX] [0-9]+ $leader " /proc/[0-9]*/stat || return 0
            sleep 0.1
        done
        kill -KILL -- "-$leader" 2>/dev/null
    }
    trap end_group EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    KSCC_OWN_GROUP=1 setsid "$BASH" "$@" &
    leader=$!
    wait "$leader"
    exit
fi
unset KSCC_OWN_GROUP
# A grandchild, so that `wait` and `jobs` of the script do not count it.
(
    (
        while kill -0 "$PPID" 2>/dev/null; do sleep 1; done
        kill -KILL 0
    ) >/dev/null 2>&1 </dev/null &
)
