#ifndef KS_ANALYZER_EXPAND_H
#define KS_ANALYZER_EXPAND_H

/* From expressions to polynomials and addresses.  Locals that are assigned once are followed into their initialisers; a variable
 * of a loop around the expression becomes KS_VAR_LOOP; what is not affine becomes one opaque factor. */

#include "analyzer/facts.h"

/* Calls are followed so deep: of device functions, and of host functions that launch. */
#define KS_MAX_CALL_DEPTH 6
#define KS_MAX_HOST_DEPTH 4

/* A __device__ function's parameter and the argument of the call that is being followed. */
struct ks_binding {
    const struct ks_symbol *param;
    const struct ks_node *arg;
};

struct ks_expand {
    struct ks_arena *arena;
    const char *source;
    const struct ks_loop *loops; /* of the function the expressions are in */
    size_t n_loops;
    const struct ks_expand *caller; /* where the arguments are to be understood; NULL: not inside a call */
    const struct ks_binding *bindings;
    size_t n_bindings;
    int steps_left; /* the module's own */
};

struct ks_poly ks_expand(const struct ks_expand *x, const struct ks_node *n);

/* Where an lvalue or pointer points: a buffer, and bytes from its start. */
struct ks_address {
    const struct ks_symbol *buffer; /* NULL: not known */
    struct ks_poly bytes;
    unsigned thread_mask; /* KS_THREAD_* that the offset can depend on */
    bool through_memory;  /* the pointer itself was loaded */
};
struct ks_address ks_expand_pointer(const struct ks_expand *x, const struct ks_node *n); /* n has pointer or array type */
struct ks_address ks_expand_lvalue(const struct ks_expand *x, const struct ks_node *n);

/* KS_THREAD_* that the value of n can depend on, from what ks_usage_derive() found about the locals in it. */
unsigned ks_node_thread_mask(const struct ks_node *n);
/* Size that index arithmetic over elements of t uses; 1 where it is not known, which happens in templates. */
int64_t ks_type_step(const struct ks_type *t);

#endif
