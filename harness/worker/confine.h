#ifndef KS_HARNESS_WORKER_CONFINE_H
#define KS_HARNESS_WORKER_CONFINE_H

/* Runs a compiler over a candidate's text: `--confine [-r PATH]... [-w PATH]... -- COMMAND...`.  A text can name any file
 * (`#include`, `.incbin`), and what it names ends up in the object, so the command reads the system's folders and the paths named
 * with -r, reads and writes those named with -w, and has no network.  Walls that the kernel does not offer are left out; kscc
 * doctor and certificates say which.  With -s first it is an agent's shell: no sockets at all, few processes and small files, a
 * process namespace of its own where there is one, and no command without Landlock and seccomp.  Never returns: the exit status is
 * the command's, or 126. */

_Noreturn void ks_confine_run(int argc, char **argv);

#endif
