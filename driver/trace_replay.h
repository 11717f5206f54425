#ifndef KS_DRIVER_TRACE_REPLAY_H
#define KS_DRIVER_TRACE_REPLAY_H

/* kscc trace replay: applies every accepted edit of a trace to the original again, has the harness judge it on the machine at
 * hand, and says which gains still hold. */

/* argv[0] is "replay"; the rest: TRACE FILE.cu [nvcc options].  Exit status: 0 every accepted edit holds, 1 not, 2 usage. */
int ks_trace_replay(char *const *argv);

#endif
