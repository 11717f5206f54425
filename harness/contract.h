#ifndef KS_HARNESS_CONTRACT_H
#define KS_HARNESS_CONTRACT_H

/* The contract of an entry: what it promises and over which domain.  Written as comments in the source,
 *
 *   // kscc: entry attention_forward
 *   // kscc: dims  B=1..8 H=1..32 S=1..4096 D=64|128
 *   // kscc: in    q,k,v : half[B,H,S,D] ~ normal(0,1)
 *   // kscc: out   o     : half[B,H,S,D]  rtol=1e-3 atol=1e-3
 *   // kscc: arg   scale = rsqrt(D)
 *   // kscc: time  B=4 H=16 S=1024 D=64 ; B=1 H=16 S=4096 D=128 weight=2
 *
 * or as the same JSON in a sidecar (<stem>.kscc.json).  Directives:
 *   entry NAME                         host function in this file
 *   dims  NAME=LO..HI | NAME=A|B|C | NAME=LO..HI%M (multiples of M) | NAME=EXPR (derived from earlier dims)
 *   in|out|inout|scratch NAMES : DTYPE[EXPR,...] [~ DISTRIBUTION] [nonfinite] [rtol=X] [atol=X] [align=BYTES] [used=EXPR]
 *           DTYPE: half bf16 float double int8 uint8 int16 uint16 int32 uint32 int64 uint64; int outputs are exact
 *           DISTRIBUTION: normal(mean,sd) uniform(lo,hi) int(lo,hi) const(v)
 *           nonfinite: NaN and infinities are tried too; used: of the last length, the rest of a row is a gap that nobody writes
 *           scratch: a buffer the entry may use freely; its contents are no output
 *   arg   NAME = EXPR                  a scalar parameter; dims with the parameter's name bind to it without an arg line
 *   time  DIM=V ... [weight=W] ; ...   timing points; every non-derived dim is given
 *   work  bytes=EXPR ops=EXPR          the least that any implementation moves and computes
 *   oracle NAME                        a plain host function of the file that computes the same, better: parameters by the names
 * of the entry's, in host memory, arrays as `double *` (converted) or as the contract's type EXPR: + - * / % ( ) integers,
 * decimals, dims, and rsqrt sqrt min max ceildiv log2 exp.  Lengths are evaluated in 64-bit integers with overflow checked.  The
 * stream parameter needs no line. */

#include "base/diag.h"
#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"

#include <stdbool.h>

enum ks_dtype {
#define X(name, text, size_bytes, is_float) KS_DT_##name,
#include "harness/dtype.def"
#undef X
    KS_N_DTYPES
};
const char *ks_dtype_text(enum ks_dtype t);
size_t ks_dtype_size(enum ks_dtype t);
bool ks_dtype_is_float(enum ks_dtype t);

enum ks_direction { KS_DIR_IN, KS_DIR_OUT, KS_DIR_INOUT, KS_DIR_SCRATCH };
enum ks_dist_kind { KS_DIST_NORMAL, KS_DIST_UNIFORM, KS_DIST_INT, KS_DIST_CONST };

struct ks_expr; /* contract expression, opaque */

struct ks_dim {
    const char *name;
    int64_t lo, hi, multiple; /* range; multiple >= 1 */
    const int64_t *choices;   /* A|B|C, sorted; NULL: range */
    size_t n_choices;
    const struct ks_expr *derived; /* NULL: free dim */
    uint32_t line, col;            /* 0: from JSON */
};

struct ks_buffer {
    const char *name;
    enum ks_direction direction;
    enum ks_dtype dtype;
    const struct ks_expr *shape[KS_MAX_RANK];
    size_t rank;
    const struct ks_expr *used; /* elements of a row that are data; NULL: all */
    bool nonfinite;             /* inputs: NaN and infinities belong to the domain */
    enum ks_dist_kind dist;
    double dist_a, dist_b;
    const char *recorded;      /* contents that a program had here: SHA-256 (harness/record/record.h); NULL: none */
    int64_t recorded_off_byte; /* the buffer's first byte in them */
    bool kept;                 /* recorded, and no distribution: no other contents are tried */
    double rtol, atol;         /* float outputs; defaults by dtype */
    size_t align_bytes;        /* of the pointer; default 256 as cudaMalloc gives */
    uint32_t line, col;
};

struct ks_scalar_arg {
    const char *name;
    const struct ks_expr *value;
    uint32_t line, col;
};

/* One choice of all dims. */
struct ks_shape {
    int64_t dim[KS_MAX_DIMS];
};
struct ks_time_point {
    struct ks_shape shape;
    double weight;
};

struct ks_contract {
    const char *path; /* file it came from */
    const char *entry;
    uint32_t entry_line, entry_col;
    struct ks_dim *dims;
    size_t n_dims;
    struct ks_buffer *buffers;
    size_t n_buffers;
    struct ks_scalar_arg *args;
    size_t n_args;
    struct ks_time_point *times;
    size_t n_times;
    const struct ks_expr *work_bytes, *work_ops; /* what any implementation must move and compute at least; NULL: not said */
    const char *oracle;                          /* host function that knows better than the original; NULL: none */
    uint32_t oracle_line, oracle_col;
};

/* The host entry's C signature, carried over from the analyzer as plain data. */
enum ks_param_kind {
    KS_PARAM_POINTER,
    KS_PARAM_I8,
    KS_PARAM_U8,
    KS_PARAM_I16,
    KS_PARAM_U16,
    KS_PARAM_I32,
    KS_PARAM_U32,
    KS_PARAM_I64,
    KS_PARAM_U64,
    KS_PARAM_F32,
    KS_PARAM_F64,
    KS_PARAM_STREAM,
    KS_PARAM_UNSUPPORTED
};
struct ks_param {
    const char *name;
    enum ks_param_kind kind;
    const char *spelling;  /* type as written, for messages */
    enum ks_dtype pointee; /* pointers to a contract dtype */
    bool pointee_known;    /* false: pointer to something else (a struct): size taken from pointee_bytes */
    size_t pointee_bytes;
    bool pointee_const;
};
struct ks_signature {
    const char *entry;
    const char *symbol; /* mangled */
    const char *suffix; /* what has to follow the unit's text to give the entry that symbol; NULL: it has it by itself */
    const struct ks_param *params;
    size_t n_params;
    bool returns_int; /* int or cudaError_t: non-zero means failure */
    bool returns_void;
    const struct ks_signature *oracle; /* of the function that the contract's oracle line names; NULL: none */
};

/* Parses every contract in the text (a unit may have several entries).  Problems go to `diags` with caret; a contract with an
 * error is left out.  Arena: *ret_contracts.  Errors: KS_ERR_SYNTAX when any diagnostic is an error; *ret_contracts then still
 * holds those without errors. */
KS_NODISCARD enum ks_code ks_contracts_parse(const char *path, const char *source, size_t len, struct ks_arena *arena,
                                             struct ks_diags *diags, struct ks_contract **ret_contracts, size_t *ret_n,
                                             struct ks_err *err);
KS_NODISCARD enum ks_code ks_contracts_parse_json(const char *path, const struct ks_json *json, struct ks_arena *arena,
                                                  struct ks_diags *diags, struct ks_contract **ret_contracts, size_t *ret_n,
                                                  struct ks_err *err);
struct ks_json *ks_contract_to_json(const struct ks_contract *c);
/* Checks the contract against the entry's parameters: every parameter bound, every name known, pointee types and const agree.
 * Errors: KS_ERR_MISMATCH when any diagnostic is an error. */
KS_NODISCARD enum ks_code ks_contract_bind(const struct ks_contract *c, const struct ks_signature *sig, struct ks_diags *diags,
                                           struct ks_err *err);

/* The same for the function that the oracle line names: every parameter is a dim, an arg or a buffer that is no scratch, pointers
 * are to double or to the contract's type, and it writes a floating-point output.  Errors: KS_ERR_MISMATCH. */
KS_NODISCARD enum ks_code ks_contract_bind_oracle(const struct ks_contract *c, const struct ks_signature *oracle,
                                                  struct ks_diags *diags, struct ks_err *err);

/* Evaluates derived dims of `shape` in place; checks the domain.  Errors: KS_ERR_RANGE naming the dim. */
KS_NODISCARD enum ks_code ks_contract_complete(const struct ks_contract *c, struct ks_shape *shape, struct ks_err *err);
/* Elements of a buffer, gaps included.  Errors: KS_ERR_RANGE on overflow, negative extents, more than KS_MAX_BUFFER_BYTES, or
 * rows that are shorter than what is used of them. */
KS_NODISCARD enum ks_code ks_contract_elems(const struct ks_contract *c, const struct ks_buffer *b, const struct ks_shape *shape,
                                            int64_t *ret_elems, struct ks_err *err);
/* Elements of a row (the last length) and how many of them are data.  ks_contract_elems() has accepted the shape. */
void ks_contract_row(const struct ks_contract *c, const struct ks_buffer *b, const struct ks_shape *shape, size_t *ret_row,
                     size_t *ret_used);
KS_NODISCARD enum ks_code ks_expr_eval(const struct ks_expr *e, const struct ks_contract *c, const struct ks_shape *shape,
                                       double *ret_value, struct ks_err *err);
/* The same in checked 64-bit integers ("/" and "%" as in C): lengths and derived dims. */
KS_NODISCARD enum ks_code ks_expr_eval_i64(const struct ks_expr *e, const struct ks_contract *c, const struct ks_shape *shape,
                                           int64_t *ret_value, struct ks_err *err);
/* Index into `dims` and `shape.dim`, or SIZE_MAX. */
size_t ks_contract_find_dim(const struct ks_contract *c, const char *name);
/* Bytes of all buffers together.  Errors: KS_ERR_RANGE as ks_contract_elems. */
KS_NODISCARD enum ks_code ks_contract_bytes(const struct ks_contract *c, const struct ks_shape *shape, int64_t *ret_bytes,
                                            struct ks_err *err);
/* True when the shape is one the contract covers: every dim in its range and every buffer of a possible size. */
bool ks_contract_covers(const struct ks_contract *c, const struct ks_shape *shape);
/* Renders a shape as "B=4 H=16 S=1024 D=64" (free dims only; "its one size" where there are none). */
void ks_shape_print(const struct ks_contract *c, const struct ks_shape *shape, struct ks_str *out);
/* Fills `shapes` with up to n distinct shapes: edges of the domain, primes and neighbours of the timing points, then
 * pseudo-random ones drawn from the counter-based generator under `key`; total buffer bytes at most max_bytes each.  Returns how
 * many. */
size_t ks_contract_fuzz_shapes(const struct ks_contract *c, const uint8_t key[32], size_t max_bytes, struct ks_shape *shapes,
                               size_t n);
/* May the dim have this value?  Derived dims: no, they follow from the others. */
bool ks_contract_dim_allows(const struct ks_contract *c, size_t dim, int64_t v);
/* A shape with those dims of `at` that are `fixed` as they are there, the others smallest or drawn from the generator and lowered
 * until the buffers fit max_bytes.  False: there is none (a value outside its domain, or too large). */
bool ks_contract_shape_at(const struct ks_contract *c, const uint8_t key[32], const struct ks_shape *at, const bool *fixed,
                          bool smallest, size_t max_bytes, struct ks_shape *ret);

#endif
