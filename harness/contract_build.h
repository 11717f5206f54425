#ifndef KS_HARNESS_CONTRACT_BUILD_H
#define KS_HARNESS_CONTRACT_BUILD_H

/* Private to harness/contract_*.c.  Both spellings of a contract, comments (contract_text.c) and JSON (contract_json.c), are read
 * through a ks_scan: a piece of text that knows where it came from, so that every complaint is made in one way and with the best
 * place there is (line and column in a source, the member's name in JSON).  A ks_cbuild collects one contract and checks what
 * both spellings share. */

#include "harness/contract.h"

#define KS_MAX_EXPR_DEPTH 64                 /* nesting of one expression */
#define KS_MAX_DIM        ((int64_t)1 << 53) /* dims travel through JSON numbers */

struct ks_cbuild {
    struct ks_arena *arena;
    struct ks_diags *diags;
    const char *path;
    const char *entry;
    uint32_t entry_line, entry_col;
    KS_VEC(struct ks_dim) dims;
    KS_VEC(struct ks_buffer) buffers;
    KS_VEC(struct ks_scalar_arg) args;
    KS_VEC(struct ks_time_point) times;
    KS_VEC(struct ks_cplace) time_places;
    const struct ks_expr *work_bytes, *work_ops;
    const char *oracle;
    uint32_t oracle_line, oracle_col;
    bool failed;
};

/* Where a complaint points: line 0 with `where` set for JSON. */
struct ks_cplace {
    uint32_t line, col, len;
    const char *where;
};

struct ks_scan {
    struct ks_cbuild *b;
    const char *text;
    size_t len;
    size_t pos;
    uint32_t line, col; /* place of text[0]; line 0: JSON */
    const char *where;  /* JSON: "dims[2]"; arena */
};

void ks_cbuild_init(struct ks_cbuild *b, const char *path, struct ks_arena *arena, struct ks_diags *diags);
void ks_cbuild_release(struct ks_cbuild *b);
/* Complaints.  Each marks the contract as failed (except notes). */
void ks_cbuild_error(struct ks_cbuild *b, struct ks_cplace at, const char *fmt, ...) KS_PRINTF(3, 4);
void ks_cbuild_note(struct ks_cbuild *b, struct ks_cplace at, const char *fmt, ...) KS_PRINTF(3, 4);
/* Place of text[from..to) of a scan. */
struct ks_cplace ks_scan_place(const struct ks_scan *s, size_t from, size_t to);

/* The name is new and no function of expressions, and a dim's is no word of 'time'; complains otherwise. */
bool ks_cbuild_name_ok(struct ks_cbuild *b, const char *name, bool is_dim, struct ks_cplace at);
size_t ks_cbuild_find_dim(const struct ks_cbuild *b, const char *name); /* SIZE_MAX: none */
bool ks_cbuild_add_dim(struct ks_cbuild *b, struct ks_dim dim, struct ks_cplace at);
/* tol_given, dist_given: what was written, so that misplaced options are refused; unset ones get their defaults here. */
bool ks_cbuild_add_buffer(struct ks_cbuild *b, struct ks_buffer buf, bool dist_given, bool rtol_given, bool atol_given,
                          struct ks_cplace at);
bool ks_cbuild_add_arg(struct ks_cbuild *b, struct ks_scalar_arg arg, struct ks_cplace at);
/* given[i]: the point names dim i. */
bool ks_cbuild_add_time(struct ks_cbuild *b, struct ks_time_point t, const bool *given, struct ks_cplace at);
/* Last checks, then the contract itself.  false: it has errors. */
bool ks_cbuild_finish(struct ks_cbuild *b, struct ks_contract *ret);

/* Lexical pieces; all skip blanks first. */
void ks_scan_blanks(struct ks_scan *s);
bool ks_scan_at_end(struct ks_scan *s);
bool ks_scan_char(struct ks_scan *s, char c);                                  /* consumes c if it is next */
bool ks_scan_word(struct ks_scan *s, const char **ret_word, size_t *ret_from); /* identifier, arena */
/* The name of a host function: "scale", "shop::scale", "scale<float, 4>"; arena. */
bool ks_scan_entry(struct ks_scan *s, const char **ret_name, size_t *ret_from);
bool ks_scan_int(struct ks_scan *s, int64_t *ret, const char *what);   /* complains */
bool ks_scan_number(struct ks_scan *s, double *ret, const char *what); /* signed decimal; complains */
/* The next word for messages: an identifier, a number or one character. */
size_t ks_scan_token_len(const struct ks_scan *s);
void ks_scan_error(struct ks_scan *s, const char *expected); /* "expected X, found 'token'" at the next token */

/* Pieces of the grammar that JSON strings share with comments. */
bool ks_scan_dim(struct ks_scan *s); /* NAME=DOMAIN; false: the rest of the line makes no sense */
bool ks_scan_dtype(struct ks_scan *s, enum ks_dtype *ret);
/* "HASH" or "HASH+BYTES": contents of a recording, and where in them. */
bool ks_scan_recorded(struct ks_scan *s, const char **ret_hash, int64_t *ret_off_byte);
bool ks_scan_dist(struct ks_scan *s, enum ks_dist_kind *ret_kind, double *ret_a, double *ret_b);
/* integer: a length or derived dim, where decimals and real functions have no meaning.  Stops before the first token that cannot
 * continue the expression. */
const struct ks_expr *ks_scan_expr(struct ks_scan *s, bool integer);
const char *ks_expr_text(const struct ks_expr *e); /* as written */
bool ks_expr_is_function(const char *name);
/* The value when no dim occurs in it. */
bool ks_expr_constant(const struct ks_expr *e, int64_t *ret);
const char *ks_dist_text(enum ks_dist_kind kind);
const char *ks_direction_text(enum ks_direction d);

#endif
