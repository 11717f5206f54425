#ifndef KS_HARNESS_WORKER_STACK_H
#define KS_HARNESS_WORKER_STACK_H

/* What a candidate could find around itself: nothing of the worker's, and nothing of its own from the call before. */

/* Wipes the words that the process was started with (arguments, the program's name), so that they do not tell whose process it
 * is. */
void ks_stack_forget_arguments(int argc, char **argv);
/* Runs f(arg) on a stack of its own between two pages that nobody may touch, filled anew with bytes that nobody can foresee. */
void ks_stack_call(void (*f)(void *), void *arg);

#endif
