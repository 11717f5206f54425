#ifndef KS_ANALYZER_EVIDENCE_H
#define KS_ANALYZER_EVIDENCE_H

/* How a layer's function says what it found: pieces of evidence, each with a weight in [0,1): the chance, judged from this piece
 * alone, that the layer holds the kernel back.  A hypothesis scores 1 - product(1 - weight) over its pieces; the heaviest piece
 * speaks for it: its sentence and place are the hypothesis's own.  docs/EVIDENCE.md has keys and weights. */

#include "analyzer/counters.h"
#include "analyzer/facts.h"
#include "analyzer/hypothesis.h"

struct ks_case {
    const struct ks_facts *facts;
    const struct ks_kernel *kernel;    /* NULL for the entry's own layer */
    const struct ks_entry *entry;      /* NULL for kernels */
    const struct ks_ptxas_info *ptxas; /* NULL: not known */
    const struct ks_json *profile;     /* NULL: none */
    struct ks_counters counters;       /* of the kernel */
    struct ks_arena *arena;
    /* what has been found so far */
    KS_VEC(struct ks_evidence) evidence;
    double doubt; /* product of 1 - weight */
    double heaviest;
    size_t heaviest_at;
    double handicap;    /* part of the instructions that only the compiler's ignorance costs, [0,1]; layer compilation */
    bool matrix_units;  /* see shares.h */
    double own_traffic; /* see shares.h */
    double entry_share; /* part of the entry's time that goes to launches and hand-overs; 0: not known */
    double local_gain;  /* largest speed-up of the kernel that counters allow to hope for; 0: not known */
};

/* node: the place, NULL: the kernel's or entry's name.  weight 0 adds evidence that does not speak for the layer.  fmt: one
 * sentence without a full stop that stands after "<kernel>: ". */
void ks_case_add(struct ks_case *c, const char *key, double value, double weight, const struct ks_node *node, const char *fmt,
                 ...) KS_PRINTF(6, 7);

/* One function per layer. */
void ks_case_operator_boundary(struct ks_case *c);
void ks_case_data_movement(struct ks_case *c);
void ks_case_memory_access(struct ks_case *c);
void ks_case_synchronization(struct ks_case *c);
void ks_case_parallel_decomposition(struct ks_case *c);
void ks_case_compute(struct ks_case *c);
void ks_case_compilation(struct ks_case *c);

/* compilation: what the compiler made of the text, by its PTX (built.c). */
void ks_case_built(struct ks_case *c);

/* Shared by several layers. */
bool ks_loop_is_long(const struct ks_loop *l); /* trip count at least 8, or not known */
bool ks_access_is_global(const struct ks_access *a);
const struct ks_loop *ks_case_matmul_loop(const struct ks_case *c, size_t *ret_n, bool *ret_half); /* the first; NULL: none */
double ks_clamp(double v, double lo, double hi);
bool ks_node_in_loop(const struct ks_node *n); /* of the function that n is in */
bool ks_node_inside(const struct ks_node *n, const struct ks_node *around);

#endif
