#ifndef KS_HARNESS_EMULATED_PTX_PARSE_H
#define KS_HARNESS_EMULATED_PTX_PARSE_H

/* Inside of the parser: state shared by ptx_parser.c (module level), ptx_body.c (function bodies) and ptx_names.c (scoped names).
 */

#include "base/str.h"
#include "harness/emulated/ptx_ast.h"
#include "harness/emulated/ptx_lexer.h"

enum ptx_name_kind { PTX_NAME_FREE, PTX_NAME_REG, PTX_NAME_REG_RANGE, PTX_NAME_VAR, PTX_NAME_LABEL, PTX_NAME_TABLE };

struct ptx_name {
    enum ptx_name_kind kind;
    uint32_t scope;
    const char *text;
    size_t len;
    uint32_t index; /* register, label's instruction, table; range: first register */
    uint32_t count; /* range */
    struct ptx_var *var;
};

/* Scoped names of one function: open addressing over (scope, text). */
struct ptx_names {
    struct ptx_name *slot;
    size_t n, cap;
    KS_VEC(uint32_t) parent; /* of each scope; scope 0 is the function's own */
};

#define PTX_INLINED 1024
struct ptx_parser {
    struct ptx_lexer lx;
    struct ptx_module *m;
    struct ks_err *err;
    struct ptx_names names;
    struct ptx_func *func;
    uint32_t scope;
    struct ptx_line loc;
    uint32_t func_file; /* file of the function's first .loc */
    struct ptx_inlined {
        struct ptx_line place, at; /* of code in another file; of the call in the function's own */
    } inlined[PTX_INLINED];        /* by hash; a place that is overwritten counts where it is */
    KS_VEC(struct ptx_insn) insns;
    KS_VEC(struct ptx_reg) regs;
    KS_VEC(struct ptx_var *) vars;
    KS_VEC(struct ptx_table) tables;
    KS_VEC(uint32_t) table_scope;
    KS_VEC(struct ptx_operand *) table_labels; /* per table: LIST operand of names, n_sub of them */
    KS_VEC(struct ptx_operand) operand_stack;
    KS_VEC(struct ptx_var *) mvars;
    KS_VEC(struct ptx_func *) mfuncs;
    KS_VEC(const char *) files;
    KS_VEC(const char *) aliases;
};

void ks_ptx_names_init(struct ptx_names *t);
void ks_ptx_names_release(struct ptx_names *t);
uint32_t ks_ptx_names_scope(struct ptx_names *t, uint32_t parent);
void ks_ptx_names_add(struct ptx_names *t, const struct ptx_name *name); /* a later one of the same scope and text wins */
/* Looks outward from `scope`; finds %f12 in a range declared as %f<20>.  For a range ret_index is the register. */
const struct ptx_name *ks_ptx_names_find(const struct ptx_names *t, uint32_t scope, const char *text, size_t len,
                                         uint32_t *ret_index);

KS_NODISCARD enum ks_code ks_ptx_syntax(struct ptx_parser *p, const char *what); /* error at the current token */
KS_NODISCARD enum ks_code ks_ptx_expect(struct ptx_parser *p, char punct);
bool ks_ptx_accept(struct ptx_parser *p, char punct);
bool ks_ptx_is_directive(const struct ptx_parser *p, const char *name);
KS_NODISCARD enum ks_code ks_ptx_int(struct ptx_parser *p, int64_t *ret_value); /* optional sign */
/* After the state-space directive: alignment, type, names with dimensions and initialisers, up to ';' (or ',' / ')' for a
 * parameter). */
KS_NODISCARD enum ks_code ks_ptx_parse_var(struct ptx_parser *p, enum ptx_space space, bool is_extern, bool is_param,
                                           struct ptx_var **ret_var);
KS_NODISCARD enum ks_code ks_ptx_parse_body(struct ptx_parser *p); /* from '{' to its '}' */
KS_NODISCARD enum ks_code ks_ptx_parse_file_directive(struct ptx_parser *p);

#endif
