"""Types words and TAB into zsh, with the completion _kscc of the current folder, and says what is not completed."""
import os, pty, select, sys, time
pid, fd = pty.fork()
if pid == 0: os.execvpe("zsh", ["zsh", "-f"], {**os.environ, "TERM": "dumb", "PS1": "> "})
seen = ""
def until(text, s=20):
    global seen
    end = time.monotonic() + s
    while text not in seen and time.monotonic() < end:
        if select.select([fd], [], [], 0.2)[0]: seen += os.read(fd, 65536).decode("utf8", "replace")
    return text in seen
def send(t): os.write(fd, t.encode())
send("fpath=(%s $fpath); autoload -U compinit; compinit -u -D; kscc() { print -r -- \"GOT:$*:\"; }; print RE''ADY\n" % os.getcwd())
ok = until("READY")
for typed, want in (("kscc --kscc-poli", "GOT:--kscc-policy:"), ("kscc --kscc-policy=app", "GOT:--kscc-policy=approved"), ("kscc --kscc-fre", "GOT:--kscc-fresh"), ("kscc revo", "GOT:revoke"), ("kscc report --jun", "GOT:report --junit"), ("kscc store verif", "GOT:store verify"), ("kscc ask x --gai", "GOT:ask x --gain=:")):
    send(typed + "\t"); time.sleep(1.5); send("\n")
    if not until(want): print("zsh does not complete", typed, repr(seen[-300:]))
send("exit\n")
