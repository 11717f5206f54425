#ifndef KS_HARNESS_WORKER_WORDS_H
#define KS_HARNESS_WORKER_WORDS_H

/* What kscc-worker does when it is not a worker process itself: kscc-worker serve | run BUNDLE [RESULT] | answer BUNDLE [RESULT]
 * | keep BUNDLE | devices | slurm SPEC MINUTES FOLDER.  The candidate's code never runs in such a process, but in workers that it
 * starts. */

/* The exit status; -1: argv[1] is none of these words. */
int ks_words_run(int argc, char **argv);

#endif
