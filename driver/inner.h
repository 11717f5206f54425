#ifndef KS_DRIVER_INNER_H
#define KS_DRIVER_INNER_H

/* Entries that other objects cannot call, and entries that their own unit calls.
 *
 * A static function, one in an anonymous namespace and an instance of a template have no symbol that a worker could look up: a
 * line behind the text, the same for the original and for every candidate, gives them one:
 *
 *   extern "C" void __kscc_entry_1f0c(const void *x, void *y, int n) { ::shop::scale<float>(x, y, n); }
 *
 * They, and entries that the unit itself calls, are not dispatched by renaming symbols: the compiler may have made calls of them
 * that no linker sees.  Their own first statement asks the guard instead, so that every caller meets it however the compiler
 * treats it:
 *
 *   void scale(const float *x, float *y, int n) { if (__kscc_try_1f0c(x, y, n)) return; ...
 *
 * Nothing else of the text changes, and no line of it moves.  In a template the statement is for the instance alone that the
 * contract names. */

#include "driver/unit.h"
#include "harness/contract.h"

struct ks_facts;
struct ks_entry; /* analyzer/facts.h, whose names emit.c cannot have beside those of harness/object.h */
struct ks_node;

/* The signature of the contract's entry, with symbol and suffix.  `name`: as the contract has it.  Arena: the unit's.  Errors:
 * KS_ERR_UNSUPPORTED: a member of a class, template parameters that are packs or templates; KS_ERR_SYNTAX: the instance has no
 * meaning. */
KS_NODISCARD enum ks_code ks_inner_signature(const struct ks_unit *u, const struct ks_facts *facts, const struct ks_entry *entry,
                                             const char *name, struct ks_arena *arena, struct ks_signature *ret,
                                             struct ks_err *err);
/* A function without a body that has the parameters of the template's instance with these arguments ("<float, 4>"; NULL: the
 * defaults).  scope: the namespaces around the template (ks_cxx_scope).  Errors: as above. */
KS_NODISCARD enum ks_code ks_inner_instance(const struct ks_unit *u, const struct ks_facts *facts, const struct ks_node *function,
                                            const struct ks_args *scope, const char *arguments, struct ks_arena *arena,
                                            const struct ks_node **ret, struct ks_err *err);
/* Whether the entry has to ask the guard by itself. */
bool ks_inner_asks(const struct ks_facts *facts, const struct ks_entry *entry, const struct ks_signature *signature);

/* One entry that asks by itself. */
struct ks_inner {
    const struct ks_facts *facts;
    const struct ks_entry *entry;
    const struct ks_signature *signature;
    const char *symbol; /* of the guard's function: int symbol([int *status,] arguments...) */
};
/* The unit's text with the questions put in, and what has to stand before it.  Errors: KS_ERR_UNSUPPORTED: a body out of a macro.
 */
KS_NODISCARD enum ks_code ks_inner_text(const struct ks_unit *u, const struct ks_inner *entries, size_t n, struct ks_str *out,
                                        struct ks_err *err);

/* A parameter's type in C, "const void *"; NULL: it has none. */
const char *ks_inner_c_type(const struct ks_param *p);

#endif
