#ifndef KS_HARNESS_WORKER_CONFINE_AGENT_H
#define KS_HARNESS_WORKER_CONFINE_AGENT_H

/* Runs a coding agent's program: `--confine -a SECONDS [-r PATH]... -w FOLDER -- COMMAND...`.  It reads the paths named with -r,
 * writes below FOLDER, keeps the network, and has processes, host name, shared memory and mounts of its own where the kernel
 * gives them.  All its processes end with the first; besides, this ends them all with one of these statuses: */
#define KS_CONFINE_TOO_MANY 121 /* more than KS_AGENT_PROCESSES processes */
#define KS_CONFINE_TOO_FULL 122 /* more than KS_AGENT_BYTES, or KS_AGENT_FILES, below FOLDER */
#define KS_CONFINE_TOO_LONG 123 /* SECONDS are over */

#define KS_AGENT_PROCESSES 512
#define KS_AGENT_FILES     200000
#define KS_AGENT_BYTES     (4ull << 30)

/* Never returns: the status is the command's, one of the above, or 126 when the walls cannot be raised: without Landlock nothing
 * runs. */
_Noreturn void ks_confine_agent_run(int argc, char **argv);

#endif
