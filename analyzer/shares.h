#ifndef KS_ANALYZER_SHARES_H
#define KS_ANALYZER_SHARES_H

/* What a layer costs, by the counters: the share of a kernel's time that would vanish if the layer were free.
 *
 * The device names for each resource (issue, fp32, dram, latency...) the time that it alone would take, and joins them by a norm.
 * A free layer leaves a part of each: of a kernel whose sectors are a quarter used, free memory access leaves a quarter of the
 * cycles that lines and sectors cost; of one that asks twenty times for each byte, free data movement leaves a twentieth of what
 * loads cost.  The rest is joined again, and the difference is the share.  docs/EVIDENCE.md has the table. */

#include "analyzer/counters.h"

#include <stdbool.h>

/* What the counters cannot know. */
struct ks_share_hints {
    double local_free;  /* part of the instructions that only the compiler's handicap costs, from the source and ptxas; [0,1] */
    bool matrix_units;  /* products of matrices in a type that tensor cores take, made without them */
    double own_traffic; /* part of the global accesses that writes and reads back what need not leave the kernel */
    double max_warps;   /* that fit on an SM */
};

#define KS_SHARE_TERMS(X)                                                                                                        \
    X(issue, "instruction issue")                                                                                                \
    X(int, "integer arithmetic")                                                                                                 \
    X(fp32, "single-precision arithmetic")                                                                                       \
    X(fp64, "double-precision arithmetic")                                                                                       \
    X(fp16, "half-precision arithmetic")                                                                                         \
    X(special, "special functions")                                                                                              \
    X(tensor, "tensor cores")                                                                                                    \
    X(lsu, "load and store requests")                                                                                            \
    X(shared, "shared memory")                                                                                                   \
    X(l2, "reads through L2")                                                                                                    \
    X(l2_write, "lines written")                                                                                                 \
    X(dram, "DRAM traffic")                                                                                                      \
    X(atomic, "atomics")                                                                                                         \
    X(barrier, "barriers")                                                                                                       \
    X(dispatch, "starting blocks")                                                                                               \
    X(latency, "latency")

/* In [0,1); NAN: no modelled times.  *ret_resource: the resource that shrinks most, *ret_alone: its part of the kernel's time. */
double ks_share_if_free(const struct ks_counters *c, enum ks_layer layer, const struct ks_share_hints *hints,
                        const char **ret_resource, double *ret_alone);
/* Part of the kernel's time that is launch overhead. */
double ks_share_launch(const struct ks_counters *c);

#endif
