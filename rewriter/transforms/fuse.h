#ifndef KS_REWRITER_FUSE_H
#define KS_REWRITER_FUSE_H

/* A chain of launches that can become one kernel: which statements, under which common names, and what is handed over in
 * registers. */

#include "rewriter/text.h"
#include "rewriter/transforms/elementwise.h"

#define KS_FUSION_MAX_STAGES 4
#define KS_FUSION_MAX_STMTS  48
#define KS_FUSION_MAX_SUBST  96
#define KS_FUSION_MAX_PARAMS 48

struct ks_stage {
    struct ks_elementwise e;
    struct ks_subst subst[KS_FUSION_MAX_SUBST]; /* of this kernel's symbols */
    size_t n_subst;
};

/* A parameter of the fused kernel. */
struct ks_fused_param {
    const char *name, *type, *arg;
    const struct ks_symbol *buffer; /* entry-level pointer, NULL: scalar */
    bool is_const;                  /* the pointee */
    bool used;                      /* false: the buffer lives in a register alone */
};

/* A buffer that passes from one stage to a later one. */
struct ks_handed {
    const struct ks_symbol *buffer;
    size_t producer;
    const struct ks_access *write;
    const char *value; /* register */
    const char *type;
    bool in_memory; /* somebody else may still read it */
};

struct ks_fusion {
    const struct ks_rewrite_view *v;
    struct ks_stage stages[KS_FUSION_MAX_STAGES];
    size_t n_stages;
    struct ks_fused_param params[KS_FUSION_MAX_PARAMS];
    size_t n_params;
    struct ks_handed handed[KS_FUSION_MAX_STAGES * 2];
    size_t n_handed;
    const char *names[KS_FUSION_MAX_SUBST * 2]; /* taken in the fused kernel */
    size_t n_names;
};

/* False when the launches cannot be fused.  Arena: *ret. */
bool ks_fusion_build(const struct ks_rewrite_view *v, const struct ks_launch *const *launches, size_t n, struct ks_fusion *ret);
/* The node's text under the common names. */
const char *ks_fusion_text_in(const struct ks_fusion *fu, const struct ks_stage *s, const struct ks_node *n);
/* The test or loop head around the stage's statements, under the common names; "" when there is none. */
const char *ks_fusion_wrapper_text(const struct ks_fusion *fu, const struct ks_stage *s);
/* The entry's pointer that the stage's launch passes for a parameter; NULL: none. */
const struct ks_symbol *ks_fusion_entry_buffer(const struct ks_stage *s, const struct ks_symbol *param);

#endif
