#ifndef KS_ANALYZER_FACTS_H
#define KS_ANALYZER_FACTS_H

/* What the analyzer knows about one unit: a plain-data mirror of the parts of libclang's AST that lie in the main file, and what
 * was derived from it (kernels, launches, entries, accesses, barriers, loops, hand-overs).  Everything lives in the arena given
 * to ks_facts_parse(); nothing here refers to libclang.  Offsets are bytes into `source`, which is the file as the user wrote it:
 * an edit made by offset touches exactly the user's text.  A node whose text comes out of a macro has in_macro set: read it,
 * never edit it.  Facts are what could be proved from the AST; "not known" is a value of its own everywhere. */

#include "base/diag.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_span {
    uint32_t begin; /* byte offset of the first byte */
    uint32_t end;   /* one past the last */
};

/* ---- types ---------------------------------------------------------------------------------------------------------- */

enum ks_type_kind {
    KS_TYPE_VOID,
    KS_TYPE_BOOL,
    KS_TYPE_INT,   /* any integer or enum: size_bytes, is_unsigned */
    KS_TYPE_HALF,  /* __half */
    KS_TYPE_BF16,  /* __nv_bfloat16 */
    KS_TYPE_FLOAT, /* float */
    KS_TYPE_DOUBLE,
    KS_TYPE_POINTER,
    KS_TYPE_ARRAY,
    KS_TYPE_RECORD, /* struct, class, union, vector types such as float4 */
    KS_TYPE_OTHER
};

struct ks_field {
    const char *name;
    const struct ks_type *type;
    int64_t off_byte; /* inside the record, -1: not known */
};

struct ks_type {
    enum ks_type_kind kind;
    const char *spelling;  /* as in the source, "const half *" */
    const char *canonical; /* "const __half *" */
    int64_t size_bytes;    /* -1: not known (dependent, incomplete) */
    int64_t align_bytes;   /* -1: not known */
    bool is_const;
    bool is_volatile;
    bool is_restrict;              /* pointers */
    bool is_unsigned;              /* integers */
    const struct ks_type *element; /* pointee or array element */
    int64_t array_len;             /* arrays; -1: not a constant */
    const struct ks_field *fields; /* records defined in the main file or vector types */
    size_t n_fields;
};

/* ---- symbols and nodes ---------------------------------------------------------------------------------------------- */

enum ks_symbol_kind {
    KS_SYM_PARAM,
    KS_SYM_LOCAL,       /* automatic variable of host or device code */
    KS_SYM_SHARED,      /* __shared__ */
    KS_SYM_DEVICE,      /* __device__ or __managed__ at file scope */
    KS_SYM_CONSTANT,    /* __constant__ */
    KS_SYM_HOST_GLOBAL, /* host variable with static storage */
    KS_SYM_ENUM_CONSTANT,
    KS_SYM_FUNCTION,
    KS_SYM_BUILTIN_INDEX, /* threadIdx, blockIdx, blockDim, gridDim, warpSize */
    KS_SYM_OTHER
};

/* Which thread indices a value can depend on, through arithmetic, memory and control flow. */
#define KS_THREAD_X 1u
#define KS_THREAD_Y 2u
#define KS_THREAD_Z 4u

/* One assignment to a variable, ++ and -- included; the initialiser is not one. */
struct ks_write {
    const struct ks_node *node;  /* the assignment */
    const struct ks_node *value; /* right-hand side; NULL for ++ and -- */
    const struct ks_write *next;
};

struct ks_symbol {
    enum ks_symbol_kind kind;
    const char *name;
    const struct ks_type *type;
    const struct ks_node *decl; /* NULL when declared outside the main file */
    bool has_value;             /* compile-time integer constant */
    int64_t value;
    int n_writes; /* assignments, ++/--, address taken by non-const reference; initialiser not counted */
    bool address_taken;
    bool is_reference;             /* a C++ reference; `type` is what it refers to */
    bool is_system;                /* declared in a system header, the toolkit's included */
    bool has_instance;             /* of a function: stands for the template that it is an instance of */
    const struct ks_write *writes; /* newest first; those through references are counted in n_writes only */
    unsigned thread_mask;          /* KS_THREAD_*: locals and parameters of device code */
    unsigned incoming_mask;        /* parameters: KS_THREAD_* of what callers pass */
};

/* X(name) */
enum ks_node_kind {
    /* declarations */
    KS_NODE_FUNCTION, /* children: parameters, then the body */
    KS_NODE_PARAM,
    KS_NODE_VAR, /* child: initialiser if any; span covers this declarator */
    /* statements */
    KS_NODE_COMPOUND,
    KS_NODE_DECL_STMT, /* children: KS_NODE_VAR */
    KS_NODE_IF,        /* children: cond, then, else or NULL */
    KS_NODE_FOR,       /* children: init, cond, step, body; any but body may be NULL */
    KS_NODE_WHILE,     /* cond, body */
    KS_NODE_DO,        /* body, cond */
    KS_NODE_SWITCH,    /* cond, body */
    KS_NODE_CASE,
    KS_NODE_RETURN, /* child: value or none */
    KS_NODE_BREAK,
    KS_NODE_CONTINUE,
    KS_NODE_NULL_STMT,
    KS_NODE_ASM,
    /* expressions */
    KS_NODE_BINARY,      /* op: "+", "=", "+=", "&&", ","...; children: lhs, rhs */
    KS_NODE_UNARY,       /* op: "-", "!", "++", "*", "&"...; postfix set for x++; child: operand */
    KS_NODE_CONDITIONAL, /* cond, a, b */
    KS_NODE_CALL,        /* callee name in `name`; children: arguments */
    KS_NODE_LAUNCH,      /* k<<<...>>>(...): children: grid, block, shared or NULL, stream or NULL, then arguments */
    KS_NODE_SUBSCRIPT,   /* base, index */
    KS_NODE_MEMBER,      /* `name` is the member; child: base */
    KS_NODE_DECL_REF,    /* `symbol` */
    KS_NODE_INT_LITERAL, /* value */
    KS_NODE_FLOAT_LITERAL,
    KS_NODE_STRING_LITERAL,
    KS_NODE_CAST,      /* explicit casts of every spelling; child: operand */
    KS_NODE_PAREN,     /* kept: edits need its span */
    KS_NODE_CONSTRUCT, /* dim3 g(a, b), functional constructions; children: arguments */
    KS_NODE_INIT_LIST,
    KS_NODE_LAMBDA,
    KS_NODE_OTHER, /* children kept; the code does not understand the node itself */
    KS_N_NODE_KINDS
};

struct ks_node {
    enum ks_node_kind kind;
    struct ks_span span;
    uint32_t line; /* of span.begin, 1-based */
    uint32_t col;
    bool in_macro;      /* set in headers too */
    const char *header; /* a device function's, in a header of the user: that header's text, which span is of; NULL: the unit */
    bool postfix;       /* unary ++ and -- */
    const char *op;     /* operators */
    const char *name;   /* function, variable, callee, member */
    const struct ks_node *callee; /* calls whose callee is more than a function's name: x.f, a lambda; NULL otherwise */
    struct ks_symbol *symbol;     /* declarations and references */
    const struct ks_type *type;   /* of expressions and declarations; may be NULL */
    bool has_value;               /* integer constant expression */
    int64_t value;
    const struct ks_node *parent; /* NULL at top level */
    struct ks_node **children;    /* entries may be NULL as said above */
    size_t n_children;
};

/* ---- polynomials in index variables --------------------------------------------------------------------------------- */

enum ks_var_kind {
    KS_VAR_THREAD_X,
    KS_VAR_THREAD_Y,
    KS_VAR_THREAD_Z,
    KS_VAR_BLOCK_X,
    KS_VAR_BLOCK_Y,
    KS_VAR_BLOCK_Z,
    KS_VAR_BLOCK_DIM_X,
    KS_VAR_BLOCK_DIM_Y,
    KS_VAR_BLOCK_DIM_Z,
    KS_VAR_GRID_DIM_X,
    KS_VAR_GRID_DIM_Y,
    KS_VAR_GRID_DIM_Z,
    KS_VAR_LOOP,   /* symbol: the loop variable */
    KS_VAR_SYMBOL, /* symbol: a parameter or a local that is assigned once and is not itself affine */
    KS_VAR_OPAQUE  /* node: an expression with no affine form (i / n, a[i], calls) */
};

struct ks_var {
    enum ks_var_kind kind;
    const struct ks_symbol *symbol;
    const struct ks_node *node;
    const char *text;     /* KS_VAR_OPAQUE: as in the source */
    unsigned thread_mask; /* KS_VAR_OPAQUE and KS_VAR_SYMBOL: KS_THREAD_*, 0: the same in all threads of a block */
};

#define KS_MAX_FACTORS 6
struct ks_term {
    int64_t coef;
    size_t n_factors;                      /* 0: the constant term */
    struct ks_var factors[KS_MAX_FACTORS]; /* sorted; a product, so row * n has two */
};

/* Sum of terms.  known == false: the expression could not be expanded (too many terms, float, call). */
struct ks_poly {
    bool known;
    bool has_opaque; /* some factor is KS_VAR_OPAQUE */
    struct ks_term *terms;
    size_t n_terms;
};

/* How an index moves from one lane (threadIdx.x + 1) to the next. */
enum ks_lane_stride {
    KS_STRIDE_UNIFORM,  /* same address in all lanes */
    KS_STRIDE_UNIT,     /* consecutive elements */
    KS_STRIDE_CONSTANT, /* lane_stride_elem apart, not 0 or 1 */
    KS_STRIDE_SYMBOLIC, /* apart by a value not known at compile time, such as a row length */
    KS_STRIDE_IRREGULAR /* through memory, division or not known */
};

/* ---- kernels -------------------------------------------------------------------------------------------------------- */

enum ks_space { KS_SPACE_GLOBAL, KS_SPACE_SHARED, KS_SPACE_CONSTANT, KS_SPACE_LOCAL };

struct ks_loop {
    const struct ks_node *node;                 /* FOR, WHILE or DO */
    const struct ks_symbol *variable;           /* NULL: not a counted loop */
    const struct ks_node *first, *bound, *step; /* expressions; NULL where not known */
    struct ks_poly first_poly, bound_poly, step_poly;
    bool bound_inclusive;
    int64_t trip_count;          /* -1: not a constant */
    bool lane_uniform;           /* bounds do not depend on threadIdx */
    bool has_barrier;            /* a barrier inside */
    int64_t shrink;              /* i /= shrink or i >>= log2(shrink) each step, as tree reductions do; 0: another step */
    bool has_inner;              /* another loop inside */
    bool unroll_pragma;          /* #pragma unroll stands before it, or a macro that is one */
    bool kept_rolled;            /* that pragma says 1 */
    const struct ks_loop *outer; /* NULL: outermost */
    int depth;                   /* 0: outermost */
};

struct ks_access {
    const struct ks_node *node;     /* the subscript or dereference; for atomics the call */
    const struct ks_symbol *buffer; /* pointer parameter or array; NULL: not known (through other pointers) */
    enum ks_space space;
    bool is_read, is_write, is_atomic;
    const struct ks_type *element;
    const char *member;      /* a[i].x: "x", NULL otherwise */
    int64_t member_off_byte; /* 0 when no member */
    struct ks_poly index;    /* in elements of `element`; multi-dimensional arrays are linearised */
    struct ks_poly bytes;    /* the same in bytes: known where a cast makes elements of an odd start, and index is not */
    enum ks_lane_stride stride;
    int64_t lane_stride_elem;   /* for UNIT and CONSTANT */
    bool base_aligned16;        /* index * size is a multiple of 16 bytes apart from threadIdx.x and loop terms, provably */
    const struct ks_loop *loop; /* innermost loop around it, NULL: none */
    bool loop_invariant;        /* index does not change in `loop` */
    bool block_reuse;           /* several threads of a block read the same element (index lacks threadIdx.x or .y) */
    bool overlaps_neighbour; /* another access of the kernel is a constant distance away: neighbouring threads share elements */
    enum ks_lane_stride
        wrapped_stride;   /* stride when IRREGULAR only through / and % by something uniform: between two wraps; else `stride` */
    unsigned thread_mask; /* KS_THREAD_* that the address can depend on */
    const struct ks_node *call; /* the access is in a __device__ function: the call in the kernel; NULL: in the kernel itself */
};

struct ks_barrier {
    const struct ks_node *node;
    bool is_warp; /* __syncwarp */
    const struct ks_loop *loop;
    bool divergent;             /* under a condition that depends on threadIdx */
    const struct ks_node *call; /* in a __device__ function: the call in the kernel; NULL: in the kernel itself */
};

struct ks_shared {
    const struct ks_symbol *symbol;
    const struct ks_node *decl;
    const struct ks_type *element; /* innermost */
    int64_t dims[4];               /* -1: dynamic */
    size_t n_dims;
    int64_t size_bytes; /* -1: dynamic */
};

struct ks_kernel {
    const char *name;
    const char *mangled;
    const struct ks_node *node; /* KS_NODE_FUNCTION; NULL body when only declared */
    const struct ks_node *body;
    struct ks_symbol **params;
    size_t n_params;
    struct ks_loop *loops;
    size_t n_loops;
    struct ks_access *accesses; /* source order */
    size_t n_accesses;
    struct ks_barrier *barriers;
    size_t n_barriers;
    struct ks_shared *shared;
    size_t n_shared;
    bool is_template;
    bool has_launch_bounds;
    bool uses_shuffle, uses_atomics, uses_tensor_cores, uses_inline_asm, calls_unknown;
    bool early_return;    /* a return before the end: barriers after it are not reached by all */
    bool has_error;       /* a parse error inside: not offered to the agent */
    unsigned uses_thread; /* KS_THREAD_*: which components of threadIdx occur */
    int64_t block_dim[3]; /* threads of a block where every launch in the unit gives the same constant; 0: not known */
    int64_t n_flops_float, n_flops_half, n_flops_double; /* static operations of one pass over the body */
    int64_t n_special;                                   /* exp, log, sin, rsqrt, division... in the body */
};

/* ---- host side ------------------------------------------------------------------------------------------------------ */

struct ks_launch {
    const struct ks_node *node;     /* KS_NODE_LAUNCH */
    const struct ks_node *stmt;     /* the statement that is the launch, with its ';' in span when the source has one */
    const struct ks_kernel *kernel; /* NULL: defined elsewhere */
    const struct ks_entry *entry;   /* the host function around it */
    const struct ks_node *grid, *block, *shared_bytes, *stream; /* NULL when absent; locals of type dim3 are followed */
    struct ks_poly grid_dims[3], block_dims[3];                 /* in entry parameters; known==false where not */
    const struct ks_node *const *args;
    size_t n_args;
    const struct ks_symbol **arg_buffers; /* per argument: the entry-level pointer passed, NULL: not a pointer */
    struct ks_poly *
        arg_polys; /* per argument, in entry parameters: the value of an integer, the byte offset into arg_buffers of a pointer */
    const struct ks_node *call; /* the launch is in a host function: the call in the entry; NULL: in the entry itself */
    bool conditional;           /* under if or switch */
    bool in_loop;
};

struct ks_entry {
    const char *name;
    const char *mangled; /* "name" for extern "C" */
    const struct ks_node *node;
    struct ks_symbol **params;
    size_t n_params;
    const struct ks_type *result;
    struct ks_launch **launches; /* source order */
    size_t n_launches;
    struct ks_launch **done; /* these, and those of the unit's host functions that it calls, in the order of the calls */
    size_t n_done;
    bool takes_object; /* a member of a class that is not static */
    bool has_error;
};

/* A buffer that one launch writes and a later launch of the same entry reads. */
struct ks_handover {
    const struct ks_launch *producer, *consumer;
    const struct ks_symbol *buffer; /* entry-level symbol */
    bool elementwise;               /* consumer's thread reads just the element that the same thread of the producer wrote */
    bool only_consumer; /* no later launch reads the buffer and it is no output parameter we know of: a buffer of the entry's own
                         */
    bool last_reader;   /* no later launch of the entry reads the buffer; a parameter may still be an output */
};

struct ks_facts {
    const char *path;
    const char *source;
    size_t source_len;
    struct ks_node **functions; /* every function defined in the main file */
    size_t n_functions;
    struct ks_node **header_functions; /* device functions of the user's headers that these call */
    size_t n_header_functions;
    struct ks_kernel *kernels;
    size_t n_kernels;
    struct ks_entry *entries; /* host functions that launch, or call some that do */
    size_t n_entries;
    struct ks_launch *launches;
    size_t n_launches;
    struct ks_handover *handovers;
    size_t n_handovers;
    bool has_main;
};

/* One option of the line as nvcc reads it: its long name without dashes ("define-macro"), and its value, NULL without one.  The
 * name "" is for a word that nvcc does not know and hands to the host compiler. */
struct ks_parse_word {
    const char *name;
    const char *value;
};

/* What the parse needs of nvcc's line and of the programs behind it.  Which words of a line are options, and which are values of
 * the option before them, is known to whoever fills this in; options that do not matter to a parse may be among them. */
struct ks_parse_options {
    const struct ks_parse_word *words; /* options files and environment expanded */
    size_t n_words;
    const char *cuda_path;       /* toolkit root, "/usr/local/cuda" */
    const char *toolkit_version; /* of nvcc, "13.0.88" */
    const char *gnuc_version;    /* what the host compiler says it is: __GNUC__ and so on, "12.2.0"; NULL: libclang's own */
    const char *gcc_dir;         /* of the host compiler's library: beside it are its headers; NULL: libclang chooses */
    bool user_headers;           /* look into device functions of the user's headers; who rewrites texts does not */
    const char *shim_dir;        /* folder of kscc_clang_shim.h and of headers a toolkit may lack */
};

/* Parses `path` (text `source`, so that unsaved candidates can be analysed) and derives the facts.  Diagnostics of the parse go
 * to `diags`.  Arena: ret_facts and all below it.  Errors: KS_ERR_SYNTAX when nothing usable came out (diags say why),
 * KS_ERR_UNSUPPORTED when libclang is missing or too old, KS_ERR_LIMIT. */
KS_NODISCARD enum ks_code ks_facts_parse(const char *path, const char *source, size_t source_len,
                                         const struct ks_parse_options *opt, struct ks_arena *arena, struct ks_diags *diags,
                                         struct ks_facts **ret_facts, struct ks_err *err);

/* ---- helpers over facts (pure) -------------------------------------------------------------------------------------- */

const struct ks_kernel *ks_facts_kernel(const struct ks_facts *f, const char *name);
/* name: as a contract has it, "scale", "shop::scale" or "scale<float>".  Of several, the one whose contract stands before it:
 * *ret_announced (may be NULL). */
const struct ks_entry *ks_facts_entry(const struct ks_facts *f, const char *name, bool *ret_announced);
bool ks_facts_entry_named(const struct ks_entry *e, const char *name);
/* The function whose body a call runs; NULL: not of the unit or of the user's headers. */
const struct ks_node *ks_facts_callee(const struct ks_facts *f, const struct ks_node *call);
bool ks_node_is_loop(const struct ks_node *n); /* for, while, do */
/* Text of a node, borrowed from source. */
const char *ks_node_text(const struct ks_facts *f, const struct ks_node *n, size_t *ret_len);
/* Coefficient of a single-variable linear term; 0 when absent; *ret_symbolic set when the variable occurs multiplied by others.
 */
int64_t ks_poly_coef(const struct ks_poly *p, enum ks_var_kind kind, const struct ks_symbol *symbol, bool *ret_symbolic);
bool ks_poly_uses(const struct ks_poly *p, enum ks_var_kind kind, const struct ks_symbol *symbol);
bool ks_poly_equal(const struct ks_poly *a, const struct ks_poly *b);
/* As C text, "row * n + threadIdx.x"; for remarks and generated code. */
void ks_poly_print(const struct ks_poly *p, struct ks_str *out);
/* Visits n and all below it, parents first; the visitor returns false to skip the children. */
typedef bool ks_node_visit_fn(const struct ks_node *n, void *ctx);
void ks_node_walk(const struct ks_node *n, ks_node_visit_fn *visit, void *ctx);

#endif
