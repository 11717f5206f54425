#ifndef KS_HARNESS_EMULATED_PTX_AST_H
#define KS_HARNESS_EMULATED_PTX_AST_H

/* PTX text as a tree: module variables, functions, and per function a flat list of instructions whose operands are resolved to
 * registers, variables and instruction indices.  Nested scopes (inline assembly) are gone: their names were resolved by the
 * parser. Everything lives in the module's arena. */

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>

enum ptx_type {
    PTX_NONE,
#define X(name, bytes, class) PTX_##name,
#include "harness/emulated/ptx_types.def"
#undef X
    PTX_N_TYPES
};
enum ptx_type_class { PTX_CLASS_U, PTX_CLASS_S, PTX_CLASS_B, PTX_CLASS_F, PTX_CLASS_P, PTX_CLASS_O };
size_t ks_ptx_type_bytes(enum ptx_type t);
enum ptx_type_class ks_ptx_type_class(enum ptx_type t);
const char *ks_ptx_type_name(enum ptx_type t);
enum ptx_type ks_ptx_type_find(const char *name, size_t len); /* without the dot; PTX_NONE: no such type */

enum ptx_space { PTX_GENERIC, PTX_REG, PTX_PARAM, PTX_GLOBAL, PTX_SHARED, PTX_LOCAL, PTX_CONST };

/* A place in the user's source, from .loc; file 0: unknown. */
struct ptx_line {
    uint32_t file; /* index into ptx_module.files */
    uint32_t line;
};

/* Initialiser piece: `value` of `bytes` at `off_byte`, plus the address of `sym` when it is not NULL. */
struct ptx_init {
    uint32_t off_byte;
    uint32_t bytes;
    uint64_t value;
    const char *sym;
};

struct ptx_var {
    const char *name;
    enum ptx_space space;
    enum ptx_type type;
    uint32_t align;
    uint64_t size_bytes; /* 0 with `is_extern`: dynamic shared memory */
    bool is_extern;
    struct ptx_init *init;
    uint32_t n_init;
    uint32_t offset; /* PARAM: in the parameter block; SHARED, LOCAL: given when a kernel is linked */
    uint32_t index;  /* of a function's variable in that function */
    bool is_kernel_param;
    bool is_formal; /* parameter or return value of a device function */
};

struct ptx_reg {
    const char *name;
    enum ptx_type type;
};

enum ptx_operand_kind {
    PTX_OP_NONE,
    PTX_OP_REG,   /* index */
    PTX_OP_SREG,  /* special register: name */
    PTX_OP_INT,   /* bits */
    PTX_OP_F32,   /* bits: 0f */
    PTX_OP_F64,   /* bits: 0d, or a decimal literal */
    PTX_OP_VAR,   /* var + bits (address of) */
    PTX_OP_FUNC,  /* function name */
    PTX_OP_LABEL, /* index: instruction */
    PTX_OP_TABLE, /* branch target list: index of the table */
    PTX_OP_MEM,   /* [sub[0] + bits]; further sub: coordinates of [a, {b, c}] */
    PTX_OP_VEC,   /* {sub...} */
    PTX_OP_LIST,  /* (sub...) */
    PTX_OP_PAIR,  /* sub[0] | sub[1] */
    PTX_OP_SINK,  /* _ */
    PTX_OP_NAME   /* unresolved while parsing; afterwards only what a call names */
};

struct ptx_operand {
    enum ptx_operand_kind kind;
    bool negated; /* !p, or -x on a register */
    uint32_t index;
    uint64_t bits;
    const char *name;
    struct ptx_var *var;
    struct ptx_operand *sub;
    uint32_t n_sub;
    uint32_t scope;       /* while parsing */
    char component;       /* 'x' 'y' 'z' 'w' of a special register, else 0 */
    const char *selector; /* "b0" ... "h1" of a video instruction's operand, else NULL */
};

#define PTX_MAX_OPERANDS 16
struct ptx_insn {
    const char *op;    /* "ld.global.v4.f32", as written */
    const char **mods; /* pieces after the first: "global", "v4", "f32"; "shared::cta" stays one piece */
    uint32_t n_mods;
    const char *base; /* "ld" */
    bool has_pred;
    bool pred_negated;
    uint32_t pred_reg;
    struct ptx_operand pred; /* while parsing */
    struct ptx_operand *operands;
    uint32_t n_operands;
    uint32_t ptx_line;
    struct ptx_line line;
};

struct ptx_table {
    uint32_t *targets; /* instruction indices */
    uint32_t n;
};

struct ptx_func {
    const char *name;
    bool is_entry, is_extern, no_return;
    struct ptx_var **params; /* formals, in order */
    uint32_t n_params;
    struct ptx_var **rets;
    uint32_t n_rets;
    struct ptx_var **vars; /* every variable declared in the body, formals first */
    uint32_t n_vars;
    struct ptx_reg *regs;
    uint32_t n_regs;
    struct ptx_insn *insns;
    uint32_t n_insns;
    struct ptx_table *tables;
    uint32_t n_tables;
    uint32_t max_ntid[3], req_ntid[3], cluster[3]; /* 0: not given */
    uint32_t min_ctas;
    uint32_t ptx_line;
};

struct ptx_module {
    struct ks_arena arena;
    char target[32];
    uint32_t version_major, version_minor;
    struct ptx_var **vars;
    uint32_t n_vars;
    struct ptx_func **funcs;
    uint32_t n_funcs;
    const char **files; /* by .file index; NULL where not declared */
    uint32_t n_files;
    const char **aliases; /* pairs: alias, target */
    uint32_t n_aliases;
};

/* Errors: KS_ERR_SYNTAX with the PTX line in err->loc (file "<ptx>"), KS_ERR_LIMIT. */
KS_NODISCARD enum ks_code ks_ptx_parse(const char *text, size_t len, struct ptx_module **ret_module, struct ks_err *err);
void ks_ptx_free(struct ptx_module *m);
struct ptx_func *ks_ptx_func(const struct ptx_module *m, const char *name);
struct ptx_var *ks_ptx_var(const struct ptx_module *m, const char *name);

#endif
