#ifndef KS_REWRITER_TEXT_H
#define KS_REWRITER_TEXT_H

/* The user's text as a transformation needs it: copies of nodes, lines and indentation, names that are still free, copies with
 * other expressions in the place of variables, and places where a new function can stand.  Everything returned lives in the arena
 * given. */

#include "analyzer/facts.h"
#include "base/mem.h"
#include "base/str.h"
#include "rewriter/edit.h"

/* ---- slices ---------------------------------------------------------------------------------------------------------- */

const char *ks_text_slice(const struct ks_facts *f, struct ks_span span, struct ks_arena *arena);
const char *ks_text_of(const struct ks_facts *f, const struct ks_node *n, struct ks_arena *arena); /* "" for NULL */
const char *ks_text_print_poly(const struct ks_poly *p, struct ks_arena *arena);

/* ---- lines and indentation ------------------------------------------------------------------------------------------- */

uint32_t ks_text_line_begin(const struct ks_facts *f, uint32_t off_byte);
uint32_t ks_text_line_end(const struct ks_facts *f, uint32_t off_byte); /* just past the newline, or the end of the text */
/* The blanks at the begin of the line that holds off_byte. */
const char *ks_text_indent(const struct ks_facts *f, uint32_t off_byte, struct ks_arena *arena);
/* One level of indentation as this file writes it: "    ", "  ", "\t". */
const char *ks_text_indent_unit(const struct ks_facts *f, struct ks_arena *arena);
/* `text`, whose lines are indented with four blanks a level, with this file's unit, and `indent` before every line but empty
 * ones. Raw generated code is written with four blanks and passed through here once. */
const char *ks_text_layout(const struct ks_facts *f, const char *text, const char *indent, struct ks_arena *arena);
/* A statement, block or expression copied from the user: the indentation that all its lines but the first share with the line it
 * starts on is replaced by `indent`.  The first line gets none. */
const char *ks_text_reindent(const struct ks_facts *f, struct ks_span span, const char *copy, const char *indent,
                             struct ks_arena *arena);
/* Span of a statement with its ';' (the node's span may end before it). */
struct ks_span ks_text_stmt_span(const struct ks_facts *f, const struct ks_node *stmt);

/* ---- names and places ------------------------------------------------------------------------------------------------ */

/* `word` occurs in the text as a whole word. */
bool ks_text_has_word(const char *text, const char *word);
bool ks_text_has_identifier(const struct ks_facts *f, const char *name);
/* `base` when no identifier of the file is called so, else base_2, base_3...  The file's own text alone is looked at, so pick
 * words that no CUDA header uses. */
const char *ks_text_fresh(const struct ks_facts *f, const char *base, struct ks_arena *arena);
/* The same for a name inside one function: no identifier of the span and no #define of the file is called so. */
const char *ks_text_fresh_in(const struct ks_facts *f, struct ks_span span, const char *base, struct ks_arena *arena);
/* Where a new function can be inserted: just past the line on which `function` ends. */
uint32_t ks_text_after_function(const struct ks_facts *f, const struct ks_node *function);
/* Before the function, its template header and the comment block above it. */
uint32_t ks_text_before_function(const struct ks_facts *f, const struct ks_node *function);
/* The function's name in its definition; empty: not found. */
struct ks_span ks_text_name_span(const struct ks_facts *f, const struct ks_node *function);

/* The type in which a local is declared, without a leading const; "int" when it is not known. */
const char *ks_text_mutable_type(const struct ks_symbol *s);
/* Adds `#include <header>` behind the file's last include (or at its begin), unless it is there. */
void ks_text_require_include(const struct ks_facts *f, const char *header, struct ks_edits *edits);

/* ---- nodes ----------------------------------------------------------------------------------------------------------- */

/* Its span is the user's own text, so it can be replaced as a whole.  Nodes inside may come out of macros (a constant, say):
 * check each node that is edited by itself. */
bool ks_node_editable(const struct ks_node *n);
const struct ks_node *ks_node_bare(const struct ks_node *n);    /* without parentheses and explicit casts around it */
const struct ks_node *ks_node_unparen(const struct ks_node *n); /* without parentheses around it */
bool ks_node_is_ref(const struct ks_node *n, const struct ks_symbol *symbol); /* bare reference */
bool ks_node_is_op(const struct ks_node *n, enum ks_node_kind kind, const char *op);
bool ks_node_is_builtin(const struct ks_node *n, const char *variable, char axis); /* threadIdx.x */
bool ks_node_uses(const struct ks_node *n, const struct ks_symbol *symbol);        /* anywhere below */
size_t ks_node_count_uses(const struct ks_node *n, const struct ks_symbol *symbol);
bool ks_node_contains(const struct ks_node *outer, const struct ks_node *inner);
const struct ks_node *ks_node_stmt(const struct ks_node *n);     /* innermost statement that is a child of a compound */
const struct ks_node *ks_node_function(const struct ks_node *n); /* the function around it */
bool ks_node_has_side_effects(const struct ks_node *n);          /* assignments, ++, calls that are not known to be pure */
/* First node below n (n included) that satisfies the predicate, source order. */
typedef bool ks_node_test_fn(const struct ks_node *n, void *ctx);
const struct ks_node *ks_node_find(const struct ks_node *n, ks_node_test_fn *test, void *ctx);
bool ks_node_is_call(const struct ks_node *n, const char *name);
const struct ks_node *ks_node_initialiser(const struct ks_node *var); /* of a KS_NODE_VAR; NULL: none */

/* Follows locals that are never written to what they were initialised with, through parentheses and casts. */
const struct ks_node *ks_node_follow(const struct ks_node *n);
/* blockDim.AXIS, or a constant that equals the block size of the launch. */
bool ks_node_is_block_size(const struct ks_node *n, char axis, const struct ks_launch *l);
/* blockIdx.A * block size + threadIdx.A, in any order and through locals: the axis 'x' or 'y'; 0 when it is something else. */
char ks_node_global_index(const struct ks_node *n, const struct ks_launch *l);

/* ---- launches -------------------------------------------------------------------------------------------------------- */

/* The launches of a kernel in the whole unit; returns their number, writes at most cap. */
size_t ks_text_launches_of(const struct ks_facts *f, const struct ks_kernel *k, const struct ks_launch **out, size_t cap);
/* True when all uses of the kernel's name in the unit are launches of `e` (so its geometry can change in place). */
bool ks_text_only_launched_by(const struct ks_facts *f, const struct ks_kernel *k, const struct ks_entry *e);
bool ks_kernel_is_static(const struct ks_facts *f, const struct ks_kernel *k);
/* Usable as a starting point for edits: defined here, not a template, no errors, its body not out of a macro as a whole. */
bool ks_kernel_editable(const struct ks_kernel *k);
/* Constant block size of a launch in one axis (0, 1, 2); -1: not a constant. */
int64_t ks_launch_block_dim(const struct ks_launch *l, int axis);

/* ---- copies with substitution ---------------------------------------------------------------------------------------- */

struct ks_subst {
    const struct ks_symbol *symbol; /* every reference to it ... */
    const char *text;               /* ... becomes this text; parenthesise it if it is no primary expression */
};
/* Copy of the node's text with references replaced; declarations of the symbols are renamed as well when text is an identifier.
 */
const char *ks_text_subst(const struct ks_facts *f, const struct ks_node *n, const struct ks_subst *subst, size_t n_subst,
                          struct ks_arena *arena);
/* The same over a span and all nodes of `root` in it. */
const char *ks_text_subst_span(const struct ks_facts *f, const struct ks_node *root, struct ks_span span,
                               const struct ks_subst *subst, size_t n_subst, struct ks_arena *arena);

#endif
