#ifndef KS_DRIVER_WORKSPACE_H
#define KS_DRIVER_WORKSPACE_H

/* Where a coding agent's program works, and the walls around it:
 *
 *   <dir>/<unit>.cu contract.json TASK.md     what it works on
 *   <dir>/bin/kscc                            kscc; "kscc try" asks the kscc outside
 *   <dir>/home  <dir>/tmp                     its HOME, with copies of the files that the preset names, and TMPDIR
 *   <dir>/try.sock
 *
 * It writes below <dir> and nowhere else; it reads the system's folders, its own installation, kscc and what the preset names;
 * its environment holds what the preset names and little else.  It keeps the network, which its model needs.  Its processes have
 * a process namespace of their own and end together; more than KS_AGENT_PROCESSES of them, more than KS_AGENT_BYTES in the
 * workspace or the end of its time end them all (harness/worker/confine_agent.h).  Without Landlock it is not started. */

#include "rewriter/command_preset.h"

#include <sys/types.h>

struct ks_workspace {
    char *dir, *unit, *task, *socket; /* owned */
    int listen_fd, output_fd;         /* -1 */
    pid_t pid;                        /* 0: not running */
    int64_t deadline_ns;
    struct ks_str output; /* the end of what it printed */
    char *ended;          /* how the last run ended, owned; NULL: none has */
};

/* Makes the folder's contents under `dir`, which exists and belongs to the caller. */
KS_NODISCARD enum ks_code ks_workspace_make(struct ks_workspace *w, const char *dir, const char *unit_path,
                                            const struct ks_command_preset *p, struct ks_err *err);
KS_NODISCARD enum ks_code ks_workspace_write(const struct ks_workspace *w, const char *name, const char *text, size_t len,
                                             struct ks_err *err);
KS_NODISCARD enum ks_code ks_workspace_start(struct ks_workspace *w, const struct ks_command_preset *p, const char *prompt,
                                             struct ks_err *err);
/* Reads what it prints; true while it runs. */
bool ks_workspace_alive(struct ks_workspace *w);
void ks_workspace_stop(struct ks_workspace *w); /* kills what runs */
void ks_workspace_release(struct ks_workspace *w);

#endif
