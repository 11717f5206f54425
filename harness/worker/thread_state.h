#ifndef KS_HARNESS_WORKER_THREAD_STATE_H
#define KS_HARNESS_WORKER_THREAD_STATE_H

/* What a thread keeps from call to call without any variable: the processor's control and status words, registers that nobody
 * saves, bytes of the thread's control block that nobody uses, the chain of caught exceptions.  Before a call all of it that a
 * program may find in any state gets another one, so that whoever counts there counts wrong; after it what has to be as before is
 * compared, and put back.  Both on the call's own stack, since a change of stacks saves and restores some of it. */

#include <stdint.h>

/* get_globals: __cxa_get_globals of the C++ runtime that the object brings along, NULL: none. */
void ks_thread_state_disturb(void *(*get_globals)(void));
/* Bits of enum ks_left: what the call has left changed. */
uint32_t ks_thread_state_left(void);

#endif
