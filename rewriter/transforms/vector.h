#ifndef KS_REWRITER_VECTOR_H
#define KS_REWRITER_VECTOR_H

/* Turns accesses P[i] of a run of statements into 16-byte moves of neighbouring elements: which pointers qualify, and the text
 * around the statements.  A pointer qualifies when the statements use it as P[i] and in no other way, and nothing else in them
 * touches its buffer. */

#include "rewriter/transform.h"

#define KS_VECTOR_MAX_BUFFERS 16

struct ks_vector_buffer {
    const struct ks_symbol *pointer; /* parameter or local */
    const struct ks_type *element;
    bool is_read, is_write;
    const char *type;  /* of the pack, "float_x4" */
    const char *local; /* the pack's variable */
};

struct ks_vector {
    const struct ks_kernel *kernel;
    const struct ks_symbol *index;
    const struct ks_node *const *stmts;
    size_t n_stmts;
    int lanes; /* elements a pack */
    struct ks_vector_buffer buffers[KS_VECTOR_MAX_BUFFERS];
    size_t n_buffers;
};

/* False when no pointer qualifies, or when the order of the statements' accesses matters.  stmts: borrowed. */
bool ks_vector_match(const struct ks_rewrite_view *v, const struct ks_kernel *k, const struct ks_symbol *index,
                     const struct ks_node *const *stmts, size_t n_stmts, struct ks_vector *ret);
/* Sets the lanes (after all loops of a kernel were matched, they agree on the smallest element). */
void ks_vector_set_lanes(struct ks_vector *vec, int lanes, const struct ks_rewrite_view *v);
/* Definitions of the packs that the file does not have yet; before the kernel. */
void ks_vector_print_types(const struct ks_vector *vec, size_t n, const struct ks_rewrite_view *v, struct ks_str *out);
/* "(size_t)x | (size_t)y" over all pointers, each once. */
void ks_vector_print_addresses(const struct ks_vector *vec, size_t n, struct ks_str *out);
/* Loads, the unrolled loop over `lane` around the statements, stores.  first: variable of the first index.  decls: text of
 * declarations inside the loop after the index (may be ""). */
KS_NODISCARD enum ks_code ks_vector_print_block(const struct ks_vector *vec, const struct ks_rewrite_view *v, const char *first,
                                                const char *lane, const char *decls, const char *indent, struct ks_str *out,
                                                struct ks_err *err);

#endif
