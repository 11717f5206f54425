/* Statements and expressions of libclang as plain nodes.  Implicit conversions, temporaries and default arguments vanish; what
 * the user can see in the text stays, with the span it has there. */

#include <clang-c/Index.h> /* first: our header names its types */

#include "analyzer/clang_internal.h"

#include <ctype.h>
#include <string.h>

/* ---- small services ---- */

const char *ks_conv_string(struct ks_conv *c, CXString s)
{
    const char *text = clang_getCString(s);
    const char *copy = ks_arena_strdup(c->arena, text ? text : "");
    clang_disposeString(s);
    return copy;
}

static enum CXChildVisitResult visit_child(CXCursor cursor, CXCursor parent, CXClientData data)
{
    (void)parent;
    ks_cursors *out = data;
    ks_vec_push(out, cursor);
    return CXChildVisit_Continue;
}

void ks_conv_children(CXCursor cursor, ks_cursors *out)
{
    clang_visitChildren(cursor, visit_child, out);
}

struct ks_span ks_conv_span(CXCursor cursor)
{
    CXSourceRange r = clang_getCursorExtent(cursor);
    struct ks_span s;
    clang_getFileLocation(clang_getRangeStart(r), NULL, NULL, NULL, &s.begin);
    clang_getFileLocation(clang_getRangeEnd(r), NULL, NULL, NULL, &s.end);
    return s;
}

bool ks_conv_is_word(char ch)
{
    return isalnum((unsigned char)ch) || ch == '_';
}

/* End of the macro invocation that starts at `at`: the name, and its arguments if any follow. */
static size_t invocation_end(const struct ks_conv *c, size_t at)
{
    size_t i = at;
    while (i < c->source_len && ks_conv_is_word(c->source[i]))
        i++;
    size_t open = i;
    while (open < c->source_len && isspace((unsigned char)c->source[open]))
        open++;
    if (open >= c->source_len || c->source[open] != '(')
        return i;
    int depth = 0;
    for (size_t k = open; k < c->source_len; k++) {
        depth += c->source[k] == '(' ? 1 : c->source[k] == ')' ? -1 : 0;
        if (depth == 0)
            return k + 1;
    }
    return i;
}

/* True when the whole node is the text of one macro or one of its arguments; `TILE + 1` is not, its operand TILE is. */
static bool comes_from_macro(const struct ks_conv *c, CXCursor cursor, struct ks_span span)
{
    CXSourceLocation start = clang_getRangeStart(clang_getCursorExtent(cursor));
    unsigned expansion, spelling;
    CXFile expansion_file, spelling_file;
    clang_getExpansionLocation(start, &expansion_file, NULL, NULL, &expansion);
    clang_getSpellingLocation(start, &spelling_file, NULL, NULL, &spelling);
    if (expansion == spelling && clang_File_isEqual(expansion_file, spelling_file))
        return false;
    enum CXCursorKind k = clang_getCursorKind(cursor);
    bool declares = clang_isDeclaration(k) || k == CXCursor_DeclStmt;
    if (declares && expansion + 1 < c->source_len && c->source[expansion] == '_' && c->source[expansion + 1] == '_')
        return false; /* __shared__ and the like are macros too */
    return expansion < c->source_len && span.end <= invocation_end(c, expansion);
}

struct ks_node *ks_conv_new(struct ks_conv *c, CXCursor cursor, enum ks_node_kind kind, struct ks_node *parent)
{
    struct ks_node *n = KS_ARENA_NEW(c->arena, struct ks_node);
    n->kind = kind;
    n->parent = parent;
    n->span = ks_conv_span(cursor);
    if (n->span.end > c->source_len || n->span.begin > n->span.end)
        n->span = (struct ks_span){0, 0};
    clang_getFileLocation(clang_getRangeStart(clang_getCursorExtent(cursor)), NULL, &n->line, &n->col, NULL);
    n->header = c->header;
    n->in_macro = c->header || comes_from_macro(c, cursor, n->span) || (parent && parent->in_macro);
    if (clang_isExpression(clang_getCursorKind(cursor)) || clang_isDeclaration(clang_getCursorKind(cursor)))
        n->type = ks_conv_type(c, clang_getCursorType(cursor));
    return n;
}

bool ks_conv_is_absent(CXCursor cursor)
{
    struct ks_span s = ks_conv_span(cursor);
    return s.end == 0; /* default arguments have no place */
}

static bool is_reference_to_name(CXCursor cursor)
{
    enum CXCursorKind k = clang_getCursorKind(cursor);
    return clang_isReference(k) || clang_isAttribute(k);
}

/* Children of `n` are the expressions and statements among `cursors[from..]`. */
void ks_conv_adopt(struct ks_conv *c, struct ks_node *n, const CXCursor *cursors, size_t count)
{
    n->children = KS_ARENA_ARRAY(c->arena, struct ks_node *, count + 1);
    for (size_t i = 0; i < count; i++) {
        if (is_reference_to_name(cursors[i]) || ks_conv_is_absent(cursors[i]))
            continue;
        struct ks_node *child = ks_conv_node(c, cursors[i], n);
        if (child)
            n->children[n->n_children++] = child;
    }
}

struct ks_node *ks_conv_only_child(struct ks_node *n)
{
    return n->n_children == 1 ? n->children[0] : NULL;
}

bool ks_conv_same_span(struct ks_span a, struct ks_span b)
{
    return a.begin == b.begin && a.end == b.end;
}

/* ---- declarations ---- */

static struct ks_node *convert_variable(struct ks_conv *c, CXCursor cursor, struct ks_node *parent)
{
    bool is_param = clang_getCursorKind(cursor) == CXCursor_ParmDecl;
    struct ks_node *n = ks_conv_new(c, cursor, is_param ? KS_NODE_PARAM : KS_NODE_VAR, parent);
    n->symbol = ks_conv_symbol(c, cursor);
    n->symbol->decl = n;
    n->name = n->symbol->name;
    CXCursor init = clang_Cursor_getVarDeclInitializer(cursor);
    n->children = KS_ARENA_ARRAY(c->arena, struct ks_node *, 1);
    if (!clang_Cursor_isNull(init) && !ks_conv_is_absent(init)) {
        struct ks_node *value = ks_conv_node(c, init, n);
        if (value)
            n->children[n->n_children++] = value;
    }
    const struct ks_type *t = n->symbol->type;
    bool fixed = t && t->is_const && (t->kind == KS_TYPE_INT || t->kind == KS_TYPE_BOOL);
    if (fixed && n->n_children == 1 && n->children[0]->has_value) {
        n->symbol->has_value = true;
        n->symbol->value = n->children[0]->value;
    }
    return n;
}

/* ---- statements ---- */

/* Offset of the next top-level ';' inside the parentheses of a for, or `limit`. */
static size_t next_semicolon(const struct ks_conv *c, size_t at, size_t limit)
{
    int depth = 0;
    for (size_t i = at; i < limit && i < c->source_len; i++) {
        char ch = c->source[i];
        if (ch == '(' || ch == '[' || ch == '{')
            depth++;
        else if (ch == ')' || ch == ']' || ch == '}')
            depth--;
        else if (ch == ';' && depth == 0)
            return i;
    }
    return limit;
}

/* libclang lists the parts of a for that exist without saying which; the two semicolons tell. */
static struct ks_node *convert_for(struct ks_conv *c, CXCursor cursor, struct ks_node *parent, const ks_cursors *kids)
{
    struct ks_node *n = ks_conv_new(c, cursor, KS_NODE_FOR, parent);
    n->children = KS_ARENA_ARRAY(c->arena, struct ks_node *, 4);
    n->n_children = 4;
    if (kids->n == 0)
        return n;
    size_t at = n->span.begin;
    while (at < n->span.end && c->source[at] != '(')
        at++;
    size_t first = next_semicolon(c, at + 1, n->span.end);
    size_t second = next_semicolon(c, first + 1, n->span.end);
    for (size_t i = 0; i + 1 < kids->n; i++) {
        size_t begin = ks_conv_span(kids->data[i]).begin;
        size_t slot = n->in_macro ? i : begin < first ? 0 : begin < second ? 1 : 2;
        if (slot < 3)
            n->children[slot] = ks_conv_node(c, kids->data[i], n);
    }
    n->children[3] = ks_conv_node(c, kids->data[kids->n - 1], n);
    return n;
}

static struct ks_node *convert_if(struct ks_conv *c, CXCursor cursor, struct ks_node *parent, const ks_cursors *kids)
{
    struct ks_node *n = ks_conv_new(c, cursor, KS_NODE_IF, parent);
    bool plain = kids->n == 2;
    if (kids->n == 3) { /* condition, then, else; but `if (init; cond)` has three as well */
        struct ks_span then = ks_conv_span(kids->data[1]), other = ks_conv_span(kids->data[2]);
        for (size_t i = then.end; i + 4 <= other.begin && !plain; i++)
            plain = strncmp(c->source + i, "else", 4) == 0;
        plain |= n->in_macro;
    }
    if (!plain) {
        n->kind = KS_NODE_OTHER;
        ks_conv_adopt(c, n, kids->data, kids->n);
        return n;
    }
    n->children = KS_ARENA_ARRAY(c->arena, struct ks_node *, 3);
    n->n_children = 3;
    for (size_t i = 0; i < kids->n; i++)
        n->children[i] = ks_conv_node(c, kids->data[i], n);
    return n;
}

struct ks_node *ks_conv_plain(struct ks_conv *c, CXCursor cursor, enum ks_node_kind kind, struct ks_node *parent,
                              const ks_cursors *kids)
{
    struct ks_node *n = ks_conv_new(c, cursor, kind, parent);
    ks_conv_adopt(c, n, kids->data, kids->n);
    return n;
}

/* ---- constants ---- */

static bool fold_binary(const char *op, int64_t a, int64_t b, int64_t *ret)
{
    if (ks_streq(op, "+"))
        return !__builtin_add_overflow(a, b, ret);
    if (ks_streq(op, "-"))
        return !__builtin_sub_overflow(a, b, ret);
    if (ks_streq(op, "*"))
        return !__builtin_mul_overflow(a, b, ret);
    bool divides = b != 0 && !(a == INT64_MIN && b == -1);
    if (ks_streq(op, "/") && divides)
        return *ret = a / b, true;
    if (ks_streq(op, "%") && divides)
        return *ret = a % b, true;
    if (ks_streq(op, "<<") && b >= 0 && b < 31 && a >= 0 && a < (1ll << 31))
        return *ret = a << b, true;
    if (ks_streq(op, ">>") && b >= 0 && b < 63 && a >= 0)
        return *ret = a >> b, true;
    if (ks_streq(op, "&"))
        return *ret = a & b, true;
    if (ks_streq(op, "|"))
        return *ret = a | b, true;
    if (ks_streq(op, "^"))
        return *ret = a ^ b, true;
    static const char *const compare[] = {"<", "<=", ">", ">=", "==", "!="};
    const bool result[] = {a<b, a <= b, a> b, a >= b, a == b, a != b};
    for (size_t i = 0; i < 6; i++) {
        if (ks_streq(op, compare[i]))
            return *ret = result[i], true;
    }
    return false;
}

/* A value is kept only where the node's own type can hold it, so wrap-around never looks like a known number. */
static void set_value(struct ks_node *n, int64_t value)
{
    const struct ks_type *t = n->type;
    if (!t || (t->kind != KS_TYPE_INT && t->kind != KS_TYPE_BOOL) || t->size_bytes < 1)
        return;
    if (t->is_unsigned && value < 0)
        return;
    int bits = (int)t->size_bytes * 8 - !t->is_unsigned;
    if (t->kind == KS_TYPE_INT && bits < 63 && (value >= (1ll << bits) || value < -(1ll << bits)))
        return;
    n->has_value = true;
    n->value = value;
}

static void set_evaluated(struct ks_node *n, CXCursor cursor)
{
    CXEvalResult r = clang_Cursor_Evaluate(cursor);
    if (!r)
        return;
    if (clang_EvalResult_getKind(r) == CXEval_Int)
        set_value(n, clang_EvalResult_getAsLongLong(r));
    clang_EvalResult_dispose(r);
}

/* ---- expressions ---- */

static struct ks_node *convert_binary(struct ks_conv *c, CXCursor cursor, struct ks_node *parent, const ks_cursors *kids)
{
    struct ks_node *n = ks_conv_plain(c, cursor, KS_NODE_BINARY, parent, kids);
    n->op = ks_conv_string(c, clang_getBinaryOperatorKindSpelling(clang_getCursorBinaryOperatorKind(cursor)));
    if (n->n_children != 2) {
        n->kind = KS_NODE_OTHER;
        return n;
    }
    const struct ks_node *a = n->children[0], *b = n->children[1];
    int64_t value;
    if (a->has_value && b->has_value && fold_binary(n->op, a->value, b->value, &value))
        set_value(n, value);
    return n;
}

static struct ks_node *convert_unary(struct ks_conv *c, CXCursor cursor, struct ks_node *parent, const ks_cursors *kids)
{
    struct ks_node *n = ks_conv_plain(c, cursor, KS_NODE_UNARY, parent, kids);
    enum CXUnaryOperatorKind k = clang_getCursorUnaryOperatorKind(cursor);
    n->op = ks_conv_string(c, clang_getUnaryOperatorKindSpelling(k));
    n->postfix = k == CXUnaryOperator_PostInc || k == CXUnaryOperator_PostDec;
    const struct ks_node *a = ks_conv_only_child(n);
    if (!a) {
        n->kind = KS_NODE_OTHER;
        return n;
    }
    if (a->has_value && k == CXUnaryOperator_Minus && a->value != INT64_MIN)
        set_value(n, -a->value);
    else if (a->has_value && k == CXUnaryOperator_Plus)
        set_value(n, a->value);
    else if (a->has_value && k == CXUnaryOperator_Not)
        set_value(n, ~a->value);
    else if (a->has_value && k == CXUnaryOperator_LNot)
        set_value(n, !a->value);
    return n;
}

static struct ks_node *convert_reference(struct ks_conv *c, CXCursor cursor, struct ks_node *parent)
{
    CXCursor decl = clang_getCursorReferenced(cursor);
    struct ks_node *n = ks_conv_new(c, cursor, KS_NODE_DECL_REF, parent);
    n->name = ks_conv_string(c, clang_getCursorSpelling(cursor));
    n->children = KS_ARENA_ARRAY(c->arena, struct ks_node *, 1);
    if (clang_Cursor_isNull(decl)) {
        if (!c->in_template) /* a template's parameter in an instance is the value that it has there */
            set_evaluated(n, cursor);
        return n;
    }
    n->symbol = ks_conv_symbol(c, decl);
    if (n->symbol->has_value) {
        n->has_value = true;
        n->value = n->symbol->value;
    }
    return n;
}

/* threadIdx.x is a property in clang: neither spelling nor reference says which, the text at its end does. */
static const char *word_before(struct ks_conv *c, size_t end)
{
    size_t begin = end;
    while (begin > 0 && ks_conv_is_word(c->source[begin - 1]))
        begin--;
    return ks_arena_strndup(c->arena, c->source + begin, end - begin);
}

/* The same for a property that a macro spells: the text where the macro was defined. */
static const char *word_in_macro(struct ks_conv *c, CXCursor cursor)
{
    CXFile file;
    unsigned at;
    clang_getSpellingLocation(clang_getCursorLocation(cursor), &file, NULL, NULL, &at);
    if (!file || !clang_File_isEqual(file, c->main_file) || at >= c->source_len)
        return "";
    size_t end = at;
    while (end < c->source_len && (ks_conv_is_word(c->source[end]) || c->source[end] == '.'))
        end++;
    return word_before(c, end);
}

static struct ks_node *convert_member(struct ks_conv *c, CXCursor cursor, struct ks_node *parent, const ks_cursors *kids)
{
    struct ks_node *n = ks_conv_plain(c, cursor, KS_NODE_MEMBER, parent, kids);
    n->name = ks_conv_string(c, clang_getCursorSpelling(cursor));
    const struct ks_node *base = ks_conv_only_child(n);
    CXCursor member = clang_getCursorReferenced(cursor);
    bool is_field = clang_getCursorKind(member) == CXCursor_FieldDecl;
    if (is_field)
        n->symbol = ks_conv_symbol(c, member);
    size_t n_named = 0;
    while (n_named < kids->n && is_reference_to_name(kids->data[n_named]))
        n_named++;
    bool of_this = n_named == kids->n || clang_getCursorKind(kids->data[n_named]) == CXCursor_CXXThisExpr;
    if (is_field && of_this) { /* `count` in a member function: a variable as seen from there */
        n->kind = KS_NODE_DECL_REF;
        n->n_children = 0;
        return n;
    }
    if (!base) { /* a member of *this, or a name that is not resolved yet */
        n->kind = KS_NODE_OTHER;
        return n;
    }
    bool is_index = base->symbol && base->symbol->kind == KS_SYM_BUILTIN_INDEX;
    if (is_index && n->name[0] == '\0')
        n->name = n->in_macro ? word_in_macro(c, cursor) : word_before(c, n->span.end);
    if (is_index) { /* clang's property has a pseudo-type; the value is an unsigned int */
        struct ks_type *t = KS_ARENA_NEW(c->arena, struct ks_type);
        *t = (struct ks_type){.kind = KS_TYPE_INT,
                              .spelling = "unsigned int",
                              .canonical = "unsigned int",
                              .size_bytes = 4,
                              .align_bytes = 4,
                              .is_unsigned = true,
                              .array_len = -1};
        n->type = t;
    }
    return n;
}

/* ---- casts, temporaries, leaves ---- */

static struct ks_node *convert_cast(struct ks_conv *c, CXCursor cursor, struct ks_node *parent, const ks_cursors *kids)
{
    struct ks_node *n = ks_conv_plain(c, cursor, KS_NODE_CAST, parent, kids);
    struct ks_node *inner = ks_conv_only_child(n);
    if (!inner) {
        n->kind = KS_NODE_CONSTRUCT; /* float() */
        n->name = n->type ? n->type->spelling : "";
        return n;
    }
    if (inner->kind == KS_NODE_CONSTRUCT && ks_conv_same_span(inner->span, n->span)) { /* dim3(n): the construction says it all */
        inner->parent = parent;
        return inner;
    }
    if (n->type && n->type->kind == KS_TYPE_RECORD && clang_getCursorKind(cursor) == CXCursor_CXXFunctionalCastExpr) {
        n->kind = KS_NODE_CONSTRUCT;
        n->name = n->type->spelling;
    }
    if (inner->has_value)
        set_value(n, inner->value);
    return n;
}

/* Conversions and temporaries that the user did not write: only what is inside counts. */
static struct ks_node *convert_unexposed(struct ks_conv *c, CXCursor cursor, struct ks_node *parent, const ks_cursors *kids)
{
    CXCursor real = clang_getNullCursor();
    size_t n_real = 0;
    for (size_t i = 0; i < kids->n; i++) {
        if (!is_reference_to_name(kids->data[i])) {
            real = kids->data[i];
            n_real++;
        }
    }
    if (n_real == 1)
        return ks_conv_node(c, real, parent);
    struct ks_node *n = ks_conv_plain(c, cursor, KS_NODE_OTHER, parent, kids);
    n->name = ks_conv_string(c, clang_getCursorSpelling(cursor));
    return n;
}

static struct ks_node *convert_leaf(struct ks_conv *c, CXCursor cursor, enum ks_node_kind kind, struct ks_node *parent)
{
    struct ks_node *n = ks_conv_new(c, cursor, kind, parent);
    n->children = KS_ARENA_ARRAY(c->arena, struct ks_node *, 1);
    if (kind == KS_NODE_INT_LITERAL)
        set_evaluated(n, cursor);
    return n;
}

static struct ks_node *convert_sizeof(struct ks_conv *c, CXCursor cursor, struct ks_node *parent, const ks_cursors *kids)
{
    struct ks_node *n = ks_conv_plain(c, cursor, KS_NODE_OTHER, parent, kids);
    if (!c->in_template) /* libclang must not evaluate what depends on a template parameter */
        set_evaluated(n, cursor);
    return n;
}

static struct ks_node *convert_with(struct ks_conv *c, CXCursor cursor, struct ks_node *parent, const ks_cursors *kids)
{
    switch ((int)clang_getCursorKind(cursor)) { /* as int: libclang's enum has hundreds of kinds that are KS_NODE_OTHER to us */
    case CXCursor_CompoundStmt:
        return ks_conv_plain(c, cursor, KS_NODE_COMPOUND, parent, kids);
    case CXCursor_DeclStmt:
        return ks_conv_plain(c, cursor, KS_NODE_DECL_STMT, parent, kids);
    case CXCursor_IfStmt:
        return convert_if(c, cursor, parent, kids);
    case CXCursor_ForStmt:
        return convert_for(c, cursor, parent, kids);
    case CXCursor_WhileStmt:
        return ks_conv_plain(c, cursor, kids->n == 2 ? KS_NODE_WHILE : KS_NODE_OTHER, parent, kids);
    case CXCursor_DoStmt:
        return ks_conv_plain(c, cursor, kids->n == 2 ? KS_NODE_DO : KS_NODE_OTHER, parent, kids);
    case CXCursor_SwitchStmt:
        return ks_conv_plain(c, cursor, kids->n == 2 ? KS_NODE_SWITCH : KS_NODE_OTHER, parent, kids);
    case CXCursor_CaseStmt:
    case CXCursor_DefaultStmt:
        return ks_conv_plain(c, cursor, KS_NODE_CASE, parent, kids);
    case CXCursor_ReturnStmt:
        return ks_conv_plain(c, cursor, KS_NODE_RETURN, parent, kids);
    case CXCursor_BreakStmt:
        return convert_leaf(c, cursor, KS_NODE_BREAK, parent);
    case CXCursor_ContinueStmt:
        return convert_leaf(c, cursor, KS_NODE_CONTINUE, parent);
    case CXCursor_NullStmt:
        return convert_leaf(c, cursor, KS_NODE_NULL_STMT, parent);
    case CXCursor_GCCAsmStmt:
    case CXCursor_MSAsmStmt:
        return ks_conv_plain(c, cursor, KS_NODE_ASM, parent, kids);
    case CXCursor_VarDecl:
    case CXCursor_ParmDecl:
        return convert_variable(c, cursor, parent);
    case CXCursor_BinaryOperator:
    case CXCursor_CompoundAssignOperator:
        return convert_binary(c, cursor, parent, kids);
    case CXCursor_UnaryOperator:
        return convert_unary(c, cursor, parent, kids);
    case CXCursor_ConditionalOperator:
        return ks_conv_plain(c, cursor, kids->n == 3 ? KS_NODE_CONDITIONAL : KS_NODE_OTHER, parent, kids);
    case CXCursor_CallExpr:
        return ks_conv_call(c, cursor, parent, kids);
    case CXCursor_ArraySubscriptExpr:
        return ks_conv_plain(c, cursor, kids->n == 2 ? KS_NODE_SUBSCRIPT : KS_NODE_OTHER, parent, kids);
    case CXCursor_MemberRefExpr:
        return convert_member(c, cursor, parent, kids);
    case CXCursor_DeclRefExpr:
        return convert_reference(c, cursor, parent);
    case CXCursor_IntegerLiteral:
    case CXCursor_CharacterLiteral:
    case CXCursor_CXXBoolLiteralExpr:
        return convert_leaf(c, cursor, KS_NODE_INT_LITERAL, parent);
    case CXCursor_FloatingLiteral:
        return convert_leaf(c, cursor, KS_NODE_FLOAT_LITERAL, parent);
    case CXCursor_StringLiteral:
        return convert_leaf(c, cursor, KS_NODE_STRING_LITERAL, parent);
    case CXCursor_CStyleCastExpr:
    case CXCursor_CXXStaticCastExpr:
    case CXCursor_CXXReinterpretCastExpr:
    case CXCursor_CXXConstCastExpr:
    case CXCursor_CXXDynamicCastExpr:
    case CXCursor_CXXFunctionalCastExpr:
        return convert_cast(c, cursor, parent, kids);
    case CXCursor_UnaryExpr:
        return convert_sizeof(c, cursor, parent, kids);
    case CXCursor_ParenExpr: {
        struct ks_node *n = ks_conv_plain(c, cursor, KS_NODE_PAREN, parent, kids);
        if (ks_conv_only_child(n) && ks_conv_only_child(n)->has_value)
            set_value(n, ks_conv_only_child(n)->value);
        return n;
    }
    case CXCursor_InitListExpr:
        return ks_conv_plain(c, cursor, KS_NODE_INIT_LIST, parent, kids);
    case CXCursor_LambdaExpr:
        return ks_conv_plain(c, cursor, KS_NODE_LAMBDA, parent, kids);
    case CXCursor_UnexposedExpr:
        return convert_unexposed(c, cursor, parent, kids);
    default: /* not our enum */
        return ks_conv_plain(c, cursor, KS_NODE_OTHER, parent, kids);
    }
}

struct ks_node *ks_conv_node(struct ks_conv *c, CXCursor cursor, struct ks_node *parent)
{
    if (c->depth >= KS_MAX_AST_DEPTH)
        return convert_leaf(c, cursor, KS_NODE_OTHER, parent);
    c->depth++;
    ks_cursors kids = {0};
    ks_conv_children(cursor, &kids);
    struct ks_node *n = convert_with(c, cursor, parent, &kids);
    ks_vec_release(&kids);
    c->depth--;
    return n;
}
