/* Calls as plain nodes: launches, overloaded operators, constructions and plain calls are one kind of cursor in libclang. */

#include <clang-c/Index.h> /* first: our header names its types */

#include "analyzer/clang_internal.h"

#include <stdio.h>
#include <string.h>

/* Name of the function that a callee expression refers to. */
static bool refers_to(CXCursor cursor, const char *prefix)
{
    CXString s = clang_getCursorSpelling(cursor);
    const char *text = clang_getCString(s);
    bool is_it = text && ks_str_starts(text, prefix);
    clang_disposeString(s);
    return is_it;
}

/* An overload that is not chosen yet, or a template whose arguments are not known: the first candidate. */
static CXCursor find_overload(CXCursor cursor)
{
    ks_cursors kids = {0};
    ks_conv_children(cursor, &kids);
    CXCursor found = clang_getNullCursor();
    for (size_t i = 0; i < kids.n && clang_Cursor_isNull(found); i++) {
        if (clang_getCursorKind(kids.data[i]) == CXCursor_OverloadedDeclRef && clang_getNumOverloadedDecls(kids.data[i]) > 0)
            found = clang_getOverloadedDecl(kids.data[i], 0);
        else
            found = find_overload(kids.data[i]);
    }
    ks_vec_release(&kids);
    return found;
}

/* The function that a callee expression names; null when it is a value. */
static CXCursor function_of(CXCursor callee)
{
    CXCursor function = clang_getCursorReferenced(callee);
    return clang_Cursor_isNull(function) ? find_overload(callee) : function;
}

#define KS_MAX_INSTANCES 256

/* A template's text says less than what one of its instances is: types and constants. */
static void note_instance(struct ks_conv *c, CXCursor function)
{
    if (clang_Cursor_isNull(function) || clang_Cursor_isNull(clang_getSpecializedCursorTemplate(function)) ||
        clang_Location_isInSystemHeader(clang_getCursorLocation(function)))
        return;
    for (size_t i = 0; i < c->instances.n; i++)
        if (clang_equalCursors(c->instances.data[i], function))
            return;
    if (c->instances.n < KS_MAX_INSTANCES)
        ks_vec_push(&c->instances, function);
}

/* Arguments that a function takes by non-const reference can be changed by the call. */
static void note_reference_arguments(CXCursor function, const struct ks_node *call)
{
    CXType type = clang_getCursorType(function);
    int n = clang_getNumArgTypes(type);
    for (int i = 0; i < n && (size_t)i < call->n_children; i++) {
        CXType t = clang_getArgType(type, (unsigned)i);
        const struct ks_node *arg = call->children[i];
        if (t.kind == CXType_LValueReference && !clang_isConstQualifiedType(clang_getPointeeType(t)) &&
            arg->kind == KS_NODE_DECL_REF && arg->symbol)
            arg->symbol->n_writes++;
    }
}

/* k<<<grid, block, shared, stream>>>(arguments): the second child is the call that pushes the configuration. */
static struct ks_node *convert_launch(struct ks_conv *c, CXCursor cursor, struct ks_node *parent, const ks_cursors *kids)
{
    struct ks_node *n = ks_conv_new(c, cursor, KS_NODE_LAUNCH, parent);
    CXCursor callee = function_of(kids->data[0]);
    note_instance(c, callee);
    if (!clang_Cursor_isNull(callee))
        n->symbol = ks_conv_symbol(c, callee);
    n->name = n->symbol ? n->symbol->name : ks_conv_string(c, clang_getCursorSpelling(kids->data[0]));
    ks_cursors config = {0};
    ks_conv_children(kids->data[1], &config);
    n->children = KS_ARENA_ARRAY(c->arena, struct ks_node *, 4 + kids->n);
    n->n_children = 4;
    size_t slot = 0;
    for (size_t i = 1; i < config.n && slot < 4; i++, slot++) /* the first is the callee */
        n->children[slot] = ks_conv_is_absent(config.data[i]) ? NULL : ks_conv_node(c, config.data[i], n);
    ks_vec_release(&config);
    for (size_t i = 2; i < kids->n; i++) {
        struct ks_node *arg = ks_conv_is_absent(kids->data[i]) ? NULL : ks_conv_node(c, kids->data[i], n);
        if (arg)
            n->children[n->n_children++] = arg;
    }
    return n;
}

static struct ks_node *convert_operator_call(struct ks_conv *c, CXCursor cursor, struct ks_node *parent, const ks_cursors *kids,
                                             const char *op)
{
    ks_cursors operands = {0};
    size_t op_begin = 0;
    bool dropped = false;
    for (size_t i = 0; i < kids->n; i++) {
        if (!dropped && refers_to(kids->data[i], "operator") && clang_getCursorKind(kids->data[i]) != CXCursor_CallExpr &&
            clang_getCursorKind(clang_getCursorReferenced(kids->data[i])) != CXCursor_VarDecl) {
            ks_cursors inner = {0};
            ks_conv_children(kids->data[i], &inner);
            bool is_name = inner.n == 0 || (inner.n == 1 && clang_getCursorKind(inner.data[0]) == CXCursor_DeclRefExpr);
            ks_vec_release(&inner);
            if (is_name) {
                op_begin = ks_conv_span(kids->data[i]).begin;
                dropped = true;
                continue;
            }
        }
        ks_vec_push(&operands, kids->data[i]);
    }
    bool counts = ks_streq(op, "++") || ks_streq(op, "--");
    bool is_call = ks_streq(op, "()"), is_subscript = ks_streq(op, "[]");
    enum ks_node_kind kind = is_call                     ? KS_NODE_CALL
                             : is_subscript              ? KS_NODE_SUBSCRIPT
                             : counts || operands.n == 1 ? KS_NODE_UNARY
                                                         : KS_NODE_BINARY;
    struct ks_node *n = ks_conv_new(c, cursor, kind, parent);
    n->op = ks_arena_strdup(c->arena, op);
    if (is_call && operands.n > 0) { /* a lambda or functor: the object is the callee */
        n->callee = ks_conv_node(c, operands.data[0], n);
        n->name = n->callee && n->callee->name ? n->callee->name : "";
        ks_conv_adopt(c, n, operands.data + 1, operands.n - 1);
        CXCursor function = clang_getCursorReferenced(cursor);
        if (clang_getCursorKind(function) == CXCursor_CXXMethod &&
            clang_getCursorKind(clang_getCursorSemanticParent(function)) != CXCursor_LambdaExpr &&
            !clang_Location_isInSystemHeader(clang_getCursorLocation(function))) {
            n->symbol = ks_conv_symbol(c, function);
            note_instance(c, function);
        }
    } else {
        ks_conv_adopt(c, n, operands.data, counts && operands.n > 1 ? 1 : operands.n);
        n->postfix = counts && n->n_children && op_begin >= n->children[0]->span.end;
    }
    ks_vec_release(&operands);
    size_t expected = kind == KS_NODE_UNARY ? 1 : kind == KS_NODE_CALL ? n->n_children : 2;
    if (n->n_children != expected)
        n->kind = KS_NODE_OTHER;
    return n;
}

/* A construction whose text is just that of its argument is an implicit conversion. */
static struct ks_node *convert_construction(struct ks_conv *c, CXCursor cursor, struct ks_node *parent, const ks_cursors *kids)
{
    struct ks_node *n = ks_conv_plain(c, cursor, KS_NODE_CONSTRUCT, parent, kids);
    n->name = ks_conv_string(c, clang_getCursorSpelling(cursor));
    struct ks_node *inner = ks_conv_only_child(n);
    if (inner && ks_conv_same_span(inner->span, n->span)) {
        inner->parent = parent;
        return inner;
    }
    return n;
}

struct ks_node *ks_conv_call(struct ks_conv *c, CXCursor cursor, struct ks_node *parent, const ks_cursors *kids)
{
    if (kids->n >= 2 && clang_getCursorKind(kids->data[1]) == CXCursor_CallExpr &&
        refers_to(kids->data[1], "__cudaPushCallConfiguration"))
        return convert_launch(c, cursor, parent, kids);
    CXCursor function = clang_getCursorReferenced(cursor);
    enum CXCursorKind fk = clang_Cursor_isNull(function) ? CXCursor_InvalidFile : clang_getCursorKind(function);
    bool is_elided =
        fk == CXCursor_InvalidFile && kids->n == 1 && ks_conv_same_span(ks_conv_span(kids->data[0]), ks_conv_span(cursor));
    if (fk == CXCursor_Constructor || is_elided) /* before C++17 a copy that never happens stands around temporaries */
        return convert_construction(c, cursor, parent, kids);
    CXString spelling = clang_getCursorSpelling(cursor);
    const char *text = clang_getCString(spelling);
    char op[8] = "";
    if (text && ks_str_starts(text, "operator") && text[8] && !ks_conv_is_word(text[8]) && text[8] != ' ' &&
        strlen(text + 8) < sizeof op)
        snprintf(op, sizeof op, "%s", text + 8);
    clang_disposeString(spelling);
    if (op[0] && kids->n >= 2)
        return convert_operator_call(c, cursor, parent, kids, op);
    if (fk == CXCursor_ConversionFunction && kids->n == 1) { /* x.operator float() that nobody wrote */
        ks_cursors inner = {0};
        ks_conv_children(kids->data[0], &inner);
        struct ks_node *n = inner.n == 1 ? ks_conv_node(c, inner.data[0], parent) : NULL;
        ks_vec_release(&inner);
        if (n)
            return n;
    }

    struct ks_node *n = ks_conv_new(c, cursor, KS_NODE_CALL, parent);
    n->name = ks_conv_string(c, clang_getCursorSpelling(cursor));
    if (kids->n == 0)
        return n;
    struct ks_node *callee = ks_conv_node(c, kids->data[0], n);
    if (callee && (callee->kind != KS_NODE_DECL_REF ||
                   (callee->symbol && callee->symbol->kind != KS_SYM_FUNCTION && callee->symbol->kind != KS_SYM_OTHER)))
        n->callee = callee;
    if (callee && callee->kind == KS_NODE_DECL_REF)
        n->symbol = callee->symbol;
    CXCursor chosen = n->symbol ? clang_getNullCursor() : function_of(kids->data[0]);
    if (!clang_Cursor_isNull(chosen))
        n->symbol = ks_conv_symbol(c, chosen);
    if (n->name[0] == '\0' && n->symbol)
        n->name = n->symbol->name;
    if (n->name[0] == '\0' && callee && callee->name)
        n->name = callee->name;
    ks_conv_adopt(c, n, kids->data + 1, kids->n - 1);
    if (fk != CXCursor_InvalidFile)
        note_reference_arguments(function, n);
    note_instance(c, function);
    return n;
}
