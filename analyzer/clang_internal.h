#ifndef KS_ANALYZER_CLANG_INTERNAL_H
#define KS_ANALYZER_CLANG_INTERNAL_H

/* Shared by the files that speak to libclang, clang*.c, and by nobody else; they include <clang-c/Index.h> before it.  The
 * conversion is four topics (unit and functions, statements and expressions, calls, types and symbols), each a file. */

#include "analyzer/mirror.h"
#include "base/str.h"

/* Deeper trees become KS_NODE_OTHER without children: the conversion recurses. */
#define KS_MAX_AST_DEPTH 700

typedef KS_VEC(CXCursor) ks_cursors;

struct ks_conv {
    struct ks_arena *arena;
    const char *source;
    size_t source_len;
    CXFile main_file;
    const char *header; /* `source`, when that is the text of a header; NULL: the unit's */
    void *types;        /* tsearch() trees */
    void *symbols;
    ks_cursors instances; /* of templates, that converted calls and launches name; each once */
    bool in_template;
    int depth;
};

/* clang_type.c */
const struct ks_type *ks_conv_type(struct ks_conv *c, CXType type);
/* The symbol of a declaration, made on first sight. */
struct ks_symbol *ks_conv_symbol(struct ks_conv *c, CXCursor decl);
void ks_conv_release(struct ks_conv *c);

/* clang_node.c */
struct ks_node *ks_conv_node(struct ks_conv *c, CXCursor cursor, struct ks_node *parent);
struct ks_node *ks_conv_new(struct ks_conv *c, CXCursor cursor, enum ks_node_kind kind, struct ks_node *parent);
void ks_conv_children(CXCursor cursor, ks_cursors *out);
const char *ks_conv_string(struct ks_conv *c, CXString s); /* takes s */
struct ks_span ks_conv_span(CXCursor cursor);
bool ks_conv_is_word(char ch); /* letter, digit or underscore */
/* Helpers of clang_node.c that clang_call.c shares. */
bool ks_conv_is_absent(CXCursor cursor); /* a default argument */
bool ks_conv_same_span(struct ks_span a, struct ks_span b);
/* Children of `n` are the expressions and statements among the cursors. */
void ks_conv_adopt(struct ks_conv *c, struct ks_node *n, const CXCursor *cursors, size_t count);
struct ks_node *ks_conv_only_child(struct ks_node *n); /* NULL: none or several */
struct ks_node *ks_conv_plain(struct ks_conv *c, CXCursor cursor, enum ks_node_kind kind, struct ks_node *parent,
                              const ks_cursors *kids);

/* clang_prelude.c: the file of the precompiled prelude of a line, alive as long as the process; NULL: parse in full. */
const char *ks_clang_prelude(CXIndex index, const struct ks_args *args);

/* clang_call.c */
struct ks_node *ks_conv_call(struct ks_conv *c, CXCursor cursor, struct ks_node *parent, const ks_cursors *kids);

#endif
