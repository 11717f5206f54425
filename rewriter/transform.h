#ifndef KS_REWRITER_TRANSFORM_H
#define KS_REWRITER_TRANSFORM_H

/* A transformation: one idea of how a kernel gets faster, as a row of transforms.def and a file of rewriter/transforms/.
 * `enumerate` looks at the facts and lists the sites where the idea fits, each with one choice of parameters, a predicted gain
 * and the sentence that states the bottleneck; `apply` turns one site into edits of the user's text.
 *
 * What every transformation promises:
 *  - a site is listed only when the facts show that the edit keeps the meaning for every shape the entry can be called with:
 * tails, alignment, aliasing of buffers, barriers under early return.  The harness proves it again; a wrong candidate costs a
 * trial.  The one thing that may change is the order of floating-point additions, and the precision within the contract's
 * tolerance.
 *  - no edit touches a node with in_macro, or a kernel or entry with has_error.
 *  - the external interface stays: entry signatures and non-static kernels keep name and parameters.  A kernel whose launch
 * geometry changes is edited in place when ks_text_only_launched_by() the entry, together with all its launches (the emitted
 * object keeps the original kernel for whoever else may call it); one whose parameters change, or that others launch too, becomes
 * a new `static __global__` kernel beside the old one.
 *  - generated code is CUDA a colleague would accept: the user's indentation and names, a one-line comment that says why.
 *  - the same input gives the same output; enumeration order is source order, then parameters from most to least promising. */

#include "analyzer/facts.h"
#include "base/json.h"
#include "base/layer.h"
#include "base/mem.h"
#include "rewriter/edit.h"

#define KS_MAX_SITE_PARAMS 8

/* What a transformation may look at; all borrowed.  Everything but facts, entry and arena may be NULL or empty. */
struct ks_rewrite_view {
    const struct ks_facts *facts;
    const struct ks_entry *entry;   /* the entry under optimisation */
    const struct ks_json *contract; /* ks_contract_to_json(); ask it through rewriter/promise.h */
    const struct ks_json *counters; /* device profile */
    const char *arch;               /* "sm_90a" */
    struct ks_arena *arena;         /* candidate arena: whatever enumerate and apply allocate */
};

/* One place and one choice of parameters. */
struct ks_site {
    const struct ks_transform *transform; /* filled by ks_sites_enumerate() */
    const char
        *where; /* "scores.k": kernel or launch, and buffer or variable where it matters; names, no offsets.  Unique per place */
    const char *variant;            /* "TILE=32", "" when there is only one way */
    const char *hypothesis;         /* one or two sentences: the bottleneck, and why this lifts it */
    double predicted;               /* speed-up of the *entry*, > 1 */
    const struct ks_kernel *kernel; /* NULL where the site is about launches only */
    const struct ks_launch *launch;
    bool retry_numerics; /* variants differ in precision: one that fails the numerics gate does not speak against the others */
    bool comes_last;     /* the new form is one that others do not recognise: no question puts it before them */
    int64_t param[KS_MAX_SITE_PARAMS]; /* the transformation's own */
    const void *data;                  /* the transformation's own, in the arena */
};

struct ks_sites {
    struct ks_site *data;
    size_t n;
    size_t cap;
};
void ks_sites_release(struct ks_sites *s);
void ks_sites_add(struct ks_sites *s, const struct ks_site *site); /* copies */

struct ks_transform {
    const char *name; /* "stage-shared" */
    enum ks_layer layer;
    void (*enumerate)(const struct ks_rewrite_view *v, struct ks_sites *out);
    /* Errors: KS_ERR_UNSUPPORTED when it turns out only now that the site does not fit (the agent goes on to the next). */
    enum ks_code (*apply)(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                          struct ks_err *err);
};

/* The table, in the order of transforms.def. */
extern const struct ks_transform ks_transforms[];
extern const size_t ks_n_transforms;
const struct ks_transform *ks_transform_find(const char *name); /* NULL: unknown */

/* All sites of all transformations over the launches of v->entry. */
void ks_sites_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out);
/* "stage-shared(scores.k;TILE=32)": the label of attempts and traces.  Arena string. */
const char *ks_site_label(const struct ks_site *site, struct ks_arena *arena);
/* The candidate text of one site, appended to out. */
KS_NODISCARD enum ks_code ks_site_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_str *out,
                                        struct ks_err *err);

/* Declares the two functions of every row. */
#define X(ident, text, layer_name)                                                                                               \
    void ks_tf_##ident##_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out);                                       \
    enum ks_code ks_tf_##ident##_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,      \
                                       struct ks_err *err);
#include "rewriter/transforms.def"
#undef X

#endif
