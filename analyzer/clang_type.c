/* Types and symbols of libclang as plain data.  Both are made once and found again in search trees: types by their spellings,
 * symbols by the address of the declaration that the cursor holds. */

#include <clang-c/Index.h> /* first: our header names its types */

#include "analyzer/clang_internal.h"

#include <search.h>
#include <string.h>

struct type_entry {
    struct ks_type type; /* first, so that the tree hands out types */
};

struct symbol_entry {
    CXCursor decl;
    struct ks_symbol symbol;
};

static int compare_types(const void *a, const void *b)
{
    const struct ks_type *x = a, *y = b;
    int order = strcmp(x->spelling, y->spelling);
    return order ? order : strcmp(x->canonical, y->canonical);
}

static int compare_symbols(const void *a, const void *b)
{
    const struct symbol_entry *x = a, *y = b;
    unsigned hx = clang_hashCursor(x->decl), hy = clang_hashCursor(y->decl);
    if (hx != hy)
        return hx < hy ? -1 : 1;
    if (clang_equalCursors(x->decl, y->decl))
        return 0;
    return (uintptr_t)x->decl.data[0] < (uintptr_t)y->decl.data[0] ? -1 : 1;
}

static void keep(void *node)
{
    (void)node; /* entries live in the arena */
}

void ks_conv_release(struct ks_conv *c)
{
    if (c->types)
        tdestroy(c->types, keep);
    if (c->symbols)
        tdestroy(c->symbols, keep);
    c->types = c->symbols = NULL;
}

/* ---- types ---- */

static const char *without_qualifiers(const char *s)
{
    for (;;) {
        if (ks_str_starts(s, "const "))
            s += 6;
        else if (ks_str_starts(s, "volatile "))
            s += 9;
        else
            return s;
    }
}

static bool is_vector_name(const char *name)
{
    static const char *const bases[] = {"char", "uchar", "short",    "ushort",    "int",   "uint",
                                        "long", "ulong", "longlong", "ulonglong", "float", "double"};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        size_t len = strlen(bases[i]);
        if (strncmp(name, bases[i], len) == 0 && name[len] >= '1' && name[len] <= '4' &&
            (name[len + 1] == '\0' || name[len + 1] == '_'))
            return true;
    }
    return ks_streq(name, "__half2") || ks_streq(name, "__nv_bfloat162");
}

static enum ks_type_kind kind_of(CXType canonical, const char *name)
{
    enum CXTypeKind k = canonical.kind;
    if (k == CXType_Void)
        return KS_TYPE_VOID;
    if (k == CXType_Bool)
        return KS_TYPE_BOOL;
    if (k == CXType_Enum || (k >= CXType_Char_U && k <= CXType_Int128))
        return KS_TYPE_INT;
    if (k == CXType_Float)
        return KS_TYPE_FLOAT;
    if (k == CXType_Double || k == CXType_LongDouble)
        return KS_TYPE_DOUBLE;
    if (k == CXType_Half || k == CXType_Float16 || ks_streq(name, "__half"))
        return KS_TYPE_HALF;
    if (k == CXType_BFloat16 || ks_streq(name, "__nv_bfloat16"))
        return KS_TYPE_BF16;
    if (k == CXType_Pointer)
        return KS_TYPE_POINTER;
    if (k == CXType_ConstantArray || k == CXType_IncompleteArray || k == CXType_VariableArray || k == CXType_DependentSizedArray)
        return KS_TYPE_ARRAY;
    if (k == CXType_Record)
        return KS_TYPE_RECORD;
    return KS_TYPE_OTHER;
}

static bool kind_is_unsigned(enum CXTypeKind k)
{
    return k >= CXType_Char_U && k <= CXType_UInt128;
}

struct field_ctx {
    struct ks_conv *c;
    KS_VEC(struct ks_field) fields;
};

static enum CXVisitorResult visit_field(CXCursor cursor, CXClientData data)
{
    struct field_ctx *ctx = data;
    long long bits = clang_Cursor_getOffsetOfField(cursor);
    struct ks_field f = {.name = ks_conv_string(ctx->c, clang_getCursorSpelling(cursor)),
                         .type = ks_conv_type(ctx->c, clang_getCursorType(cursor)),
                         .off_byte = bits < 0 ? -1 : bits / 8};
    ks_vec_push(&ctx->fields, f);
    return CXVisit_Continue;
}

static void fill_fields(struct ks_conv *c, struct ks_type *t, CXType canonical, const char *name)
{
    CXCursor decl = clang_getTypeDeclaration(canonical);
    if (!clang_Location_isFromMainFile(clang_getCursorLocation(decl)) && !is_vector_name(name))
        return;
    struct field_ctx ctx = {.c = c};
    clang_Type_visitFields(canonical, visit_field, &ctx);
    struct ks_field *fields = KS_ARENA_ARRAY(c->arena, struct ks_field, ctx.fields.n);
    if (ctx.fields.n)
        memcpy(fields, ctx.fields.data, ctx.fields.n * sizeof *fields);
    t->fields = fields;
    t->n_fields = ctx.fields.n;
    ks_vec_release(&ctx.fields);
}

const struct ks_type *ks_conv_type(struct ks_conv *c, CXType type)
{
    if (type.kind == CXType_Invalid)
        return NULL;
    if (type.kind == CXType_LValueReference || type.kind == CXType_RValueReference)
        type = clang_getPointeeType(type); /* an expression never has reference type; ks_symbol says which declarations are */
    CXType canonical = clang_getCanonicalType(type);
    struct ks_type key = {.spelling = ks_conv_string(c, clang_getTypeSpelling(type)),
                          .canonical = ks_conv_string(c, clang_getTypeSpelling(canonical))};
    void *found = tfind(&key, &c->types, compare_types);
    if (found)
        return *(struct ks_type **)found;

    struct ks_type *t = &KS_ARENA_NEW(c->arena, struct type_entry)->type;
    *t = key;
    KS_BUG(!tsearch(t, &c->types, compare_types)); /* before the fields: a record may hold pointers to itself */
    const char *name = without_qualifiers(t->canonical);
    t->kind = kind_of(canonical, name);
    t->is_const = clang_isConstQualifiedType(canonical);
    t->is_volatile = clang_isVolatileQualifiedType(canonical);
    t->is_restrict = clang_isRestrictQualifiedType(canonical);
    t->is_unsigned = t->kind == KS_TYPE_INT && kind_is_unsigned(canonical.kind);
    bool has_size = t->kind != KS_TYPE_VOID && t->kind != KS_TYPE_OTHER; /* libclang dies on the size of a placeholder type */
    long long size = has_size ? clang_Type_getSizeOf(canonical) : -1, align = has_size ? clang_Type_getAlignOf(canonical) : -1;
    t->size_bytes = size < 0 ? -1 : size;
    t->align_bytes = align < 0 ? -1 : align;
    t->array_len = -1;
    if (t->kind == KS_TYPE_POINTER)
        t->element = ks_conv_type(c, clang_getPointeeType(type.kind == CXType_Pointer ? type : canonical));
    if (t->kind == KS_TYPE_ARRAY) {
        CXType element = clang_getArrayElementType(type);
        t->element = ks_conv_type(c, element.kind == CXType_Invalid ? clang_getArrayElementType(canonical) : element);
        t->array_len = canonical.kind == CXType_ConstantArray ? clang_getArraySize(canonical) : -1;
    }
    if (t->kind == KS_TYPE_RECORD)
        fill_fields(c, t, canonical, name);
    return t;
}

/* ---- symbols ---- */

struct attributes {
    bool shared, device, constant, managed;
};

static enum CXChildVisitResult visit_attribute(CXCursor cursor, CXCursor parent, CXClientData data)
{
    (void)parent;
    struct attributes *a = data;
    enum CXCursorKind k = clang_getCursorKind(cursor);
    a->shared |= k == CXCursor_CUDASharedAttr;
    a->device |= k == CXCursor_CUDADeviceAttr;
    a->constant |= k == CXCursor_CUDAConstantAttr;
    return CXChildVisit_Continue;
}

static bool is_builtin_index(const char *name)
{
    return ks_streq(name, "threadIdx") || ks_streq(name, "blockIdx") || ks_streq(name, "blockDim") || ks_streq(name, "gridDim") ||
           ks_streq(name, "warpSize");
}

static enum ks_symbol_kind variable_kind(CXCursor decl, const char *name, bool in_main)
{
    if (!in_main && is_builtin_index(name))
        return KS_SYM_BUILTIN_INDEX;
    struct attributes a = {0};
    clang_visitChildren(decl, visit_attribute, &a);
    if (a.shared)
        return KS_SYM_SHARED;
    if (a.constant)
        return KS_SYM_CONSTANT;
    if (a.device)
        return KS_SYM_DEVICE;
    CXCursor scope = clang_getCursorSemanticParent(decl);
    enum CXCursorKind k = clang_getCursorKind(scope);
    bool in_function = k == CXCursor_FunctionDecl || k == CXCursor_FunctionTemplate || k == CXCursor_CXXMethod ||
                       k == CXCursor_Constructor || k == CXCursor_Destructor || k == CXCursor_ConversionFunction ||
                       k == CXCursor_LambdaExpr;
    enum CX_StorageClass storage = clang_Cursor_getStorageClass(decl);
    return in_function && storage != CX_SC_Static && storage != CX_SC_Extern ? KS_SYM_LOCAL : KS_SYM_HOST_GLOBAL;
}

static enum ks_symbol_kind symbol_kind(CXCursor decl, const char *name, bool in_main)
{
    enum CXCursorKind k = clang_getCursorKind(decl);
    if (k == CXCursor_ParmDecl)
        return KS_SYM_PARAM;
    if (k == CXCursor_EnumConstantDecl)
        return KS_SYM_ENUM_CONSTANT;
    if (k == CXCursor_FunctionDecl || k == CXCursor_FunctionTemplate || k == CXCursor_CXXMethod)
        return KS_SYM_FUNCTION;
    if (k == CXCursor_VarDecl)
        return variable_kind(decl, name, in_main);
    return KS_SYM_OTHER;
}

struct ks_symbol *ks_conv_symbol(struct ks_conv *c, CXCursor decl)
{
    struct symbol_entry key = {.decl = decl};
    void *found = tfind(&key, &c->symbols, compare_symbols);
    if (found)
        return &(*(struct symbol_entry **)found)->symbol;
    struct symbol_entry *e = KS_ARENA_NEW(c->arena, struct symbol_entry);
    e->decl = decl;
    KS_BUG(!tsearch(e, &c->symbols, compare_symbols));
    struct ks_symbol *s = &e->symbol;
    CXType type = clang_getCursorType(decl);
    bool in_main = clang_Location_isFromMainFile(clang_getCursorLocation(decl));
    s->name = ks_conv_string(c, clang_getCursorSpelling(decl));
    s->kind = symbol_kind(decl, s->name, in_main);
    s->type = ks_conv_type(c, type);
    /* clang declares its own functions where they are used first, which may be the main file */
    s->is_system = clang_Location_isInSystemHeader(clang_getCursorLocation(decl)) || ks_str_starts(s->name, "__builtin_") ||
                   ks_str_starts(s->name, "__nvvm_") || strcmp(s->name, "__syncthreads") == 0;
    s->is_reference = type.kind == CXType_LValueReference || type.kind == CXType_RValueReference;
    if (s->kind == KS_SYM_ENUM_CONSTANT) {
        s->has_value = true;
        s->value = clang_getEnumConstantDeclValue(decl);
    }
    return s;
}
