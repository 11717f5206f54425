#include "harness/emulated/ptx_ast.h"
#include "harness/emulated/ptx_parse.h"

#include "base/limits.h"

#include <string.h>

#define MAX_VAR_BYTES (1ull << 36)

static const struct {
    const char *name;
    size_t bytes;
    enum ptx_type_class class;
} types[PTX_N_TYPES] = {
    {"", 0, PTX_CLASS_O},
#define X(name, bytes, class) {#name, bytes, PTX_CLASS_##class},
#include "harness/emulated/ptx_types.def"
#undef X
};

size_t ks_ptx_type_bytes(enum ptx_type t)
{
    return types[t].bytes;
}

enum ptx_type_class ks_ptx_type_class(enum ptx_type t)
{
    return types[t].class;
}

const char *ks_ptx_type_name(enum ptx_type t)
{
    return types[t].name;
}

enum ptx_type ks_ptx_type_find(const char *name, size_t len)
{
    for (int t = 1; t < PTX_N_TYPES; t++)
        if (strlen(types[t].name) == len && memcmp(types[t].name, name, len) == 0)
            return (enum ptx_type)t;
    return PTX_NONE;
}

enum ks_code ks_ptx_syntax(struct ptx_parser *p, const char *what)
{
    const struct ptx_token *t = &p->lx.tok;
    if (t->kind == PTX_TOK_END)
        return ks_fail_at(p->err, KS_ERR_SYNTAX, "<ptx>", t->line, 0, "expected %s at the end of the ptx", what);
    int len = t->len > 40 ? 40 : (int)t->len;
    return ks_fail_at(p->err, KS_ERR_SYNTAX, "<ptx>", t->line, 0, "expected %s at '%.*s' in ptx line %u", what, len, t->text,
                      t->line);
}

bool ks_ptx_accept(struct ptx_parser *p, char punct)
{
    if (p->lx.tok.kind != PTX_TOK_PUNCT || p->lx.tok.punct != punct)
        return false;
    ks_ptx_lex(&p->lx);
    return true;
}

enum ks_code ks_ptx_expect(struct ptx_parser *p, char punct)
{
    char what[4] = {'\'', punct, '\'', 0};
    return ks_ptx_accept(p, punct) ? KS_OK : ks_ptx_syntax(p, what);
}

bool ks_ptx_is_directive(const struct ptx_parser *p, const char *name)
{
    const struct ptx_token *t = &p->lx.tok;
    return t->kind == PTX_TOK_DIRECTIVE && t->len == strlen(name) && memcmp(t->text, name, t->len) == 0;
}

enum ks_code ks_ptx_int(struct ptx_parser *p, int64_t *ret_value)
{
    bool negative = ks_ptx_accept(p, '-');
    if (!negative)
        (void)ks_ptx_accept(p, '+');
    if (p->lx.tok.kind != PTX_TOK_INT)
        return ks_ptx_syntax(p, "an integer");
    *ret_value = (int64_t)(negative ? 0 - p->lx.tok.bits : p->lx.tok.bits);
    ks_ptx_lex(&p->lx);
    return KS_OK;
}

static void push_init(struct ptx_var *v, size_t *cap, const struct ptx_init *init)
{
    if (v->n_init == *cap)
        v->init = ks_vec_grow_(v->init, cap, sizeof(*v->init));
    v->init[v->n_init++] = *init;
}

/* One value: number, or symbol(+offset), generic(symbol), 0xff(symbol) byte selections. */
static enum ks_code parse_init_value(struct ptx_parser *p, struct ptx_var *v, size_t *cap, uint32_t *off, uint32_t bytes)
{
    struct ptx_init in = {.off_byte = *off, .bytes = bytes};
    struct ptx_token *t = &p->lx.tok;
    if (t->kind == PTX_TOK_F32 || t->kind == PTX_TOK_F64) {
        in.value = t->bits;
        if (t->kind == PTX_TOK_F64 && bytes == 4) {
            double d;
            memcpy(&d, &t->bits, 8);
            float f = (float)d;
            in.value = 0;
            memcpy(&in.value, &f, 4);
        }
        ks_ptx_lex(&p->lx);
    } else if (t->kind == PTX_TOK_IDENT) {
        bool generic = t->len == 7 && memcmp(t->text, "generic", 7) == 0;
        if (generic) {
            ks_ptx_lex(&p->lx);
            KS_TRY(ks_ptx_expect(p, '('));
            if (t->kind != PTX_TOK_IDENT)
                return ks_ptx_syntax(p, "a name");
        }
        in.sym = ks_arena_strndup(&p->m->arena, t->text, t->len);
        ks_ptx_lex(&p->lx);
        if (generic)
            KS_TRY(ks_ptx_expect(p, ')'));
        int64_t add = 0;
        if (t->kind == PTX_TOK_PUNCT && (t->punct == '+' || t->punct == '-'))
            KS_TRY(ks_ptx_int(p, &add));
        in.value = (uint64_t)add;
    } else {
        int64_t value;
        KS_TRY(ks_ptx_int(p, &value));
        in.value = (uint64_t)value;
        if (t->kind == PTX_TOK_PUNCT && t->punct == '(')
            return ks_fail_at(p->err, KS_ERR_UNSUPPORTED, "<ptx>", t->line, 0, "initialise bytes of an address in ptx line %u",
                              t->line);
    }
    if (in.value || in.sym)
        push_init(v, cap, &in);
    *off += bytes;
    return KS_OK;
}

static enum ks_code parse_init(struct ptx_parser *p, struct ptx_var *v, size_t *cap, uint32_t *off, uint32_t bytes, int depth)
{
    if (!ks_ptx_accept(p, '{'))
        return parse_init_value(p, v, cap, off, bytes);
    if (depth > 8)
        return ks_ptx_syntax(p, "fewer nested braces");
    while (!ks_ptx_accept(p, '}')) {
        KS_TRY(parse_init(p, v, cap, off, bytes, depth + 1));
        if (!ks_ptx_accept(p, ',') && !(p->lx.tok.kind == PTX_TOK_PUNCT && p->lx.tok.punct == '}'))
            return ks_ptx_syntax(p, "',' or '}'");
    }
    return KS_OK;
}

static enum ks_code parse_dims(struct ptx_parser *p, struct ptx_var *v)
{
    while (ks_ptx_accept(p, '[')) {
        if (ks_ptx_accept(p, ']')) {
            v->size_bytes = 0;
            continue;
        }
        int64_t n;
        KS_TRY(ks_ptx_int(p, &n));
        if (n < 0 || (n > 0 && v->size_bytes > MAX_VAR_BYTES / (uint64_t)n))
            return ks_ptx_syntax(p, "a smaller array");
        v->size_bytes *= (uint64_t)n;
        KS_TRY(ks_ptx_expect(p, ']'));
    }
    return KS_OK;
}

/* Attributes between state space and name: .align n, .v4, .ptr .global .align n, .attribute(..), and the type. */
static enum ks_code parse_var_head(struct ptx_parser *p, struct ptx_var *v, uint32_t *ret_vec)
{
    struct ptx_token *t = &p->lx.tok;
    *ret_vec = 1;
    bool pointer = false;
    while (t->kind == PTX_TOK_DIRECTIVE) {
        enum ptx_type type = ks_ptx_type_find(t->text, t->len);
        if (ks_ptx_is_directive(p, "align")) {
            int64_t a;
            ks_ptx_lex(&p->lx);
            KS_TRY(ks_ptx_int(p, &a));
            if (a < 1 || a > 65536 || (a & (a - 1)))
                return ks_ptx_syntax(p, "a power of two as alignment");
            if (!pointer)
                v->align = (uint32_t)a;
            continue;
        }
        if (ks_ptx_is_directive(p, "attribute")) {
            while (t->kind != PTX_TOK_END && !(t->kind == PTX_TOK_PUNCT && t->punct == ')'))
                ks_ptx_lex(&p->lx);
        } else if (type != PTX_NONE) {
            v->type = type;
        } else if (ks_ptx_is_directive(p, "v2") || ks_ptx_is_directive(p, "v4")) {
            *ret_vec = (uint32_t)(t->text[1] - '0');
        } else if (ks_ptx_is_directive(p, "texref") || ks_ptx_is_directive(p, "samplerref") ||
                   ks_ptx_is_directive(p, "surfref")) {
            v->type = PTX_b64;
        } else if (ks_ptx_is_directive(p, "ptr")) {
            pointer = true;
        } else if (!ks_ptx_is_directive(p, "global") && !ks_ptx_is_directive(p, "shared") && !ks_ptx_is_directive(p, "const") &&
                   !ks_ptx_is_directive(p, "local") && !ks_ptx_is_directive(p, "param")) {
            return ks_ptx_syntax(p, "a type");
        }
        ks_ptx_lex(&p->lx);
    }
    if (v->type == PTX_NONE)
        return ks_ptx_syntax(p, "a type");
    return KS_OK;
}

enum ks_code ks_ptx_parse_var(struct ptx_parser *p, enum ptx_space space, bool is_extern, bool is_param, struct ptx_var **ret_var)
{
    struct ptx_var head = {.space = space, .is_extern = is_extern};
    uint32_t vec;
    struct ptx_token *t = &p->lx.tok;
    KS_TRY(parse_var_head(p, &head, &vec));
    do {
        struct ptx_var *v = KS_ARENA_NEW(&p->m->arena, struct ptx_var);
        *v = head;
        if (t->kind != PTX_TOK_IDENT)
            return ks_ptx_syntax(p, "a variable name");
        v->name = ks_arena_strndup(&p->m->arena, t->text, t->len);
        ks_ptx_lex(&p->lx);
        v->size_bytes = ks_ptx_type_bytes(v->type) * vec;
        if (!v->align)
            v->align = (uint32_t)v->size_bytes;
        uint32_t count = 1;
        if (p->lx.tok.kind == PTX_TOK_PUNCT && t->punct == '<') { /* name<8>: name0 .. name7 */
            int64_t n;
            ks_ptx_lex(&p->lx);
            KS_TRY(ks_ptx_int(p, &n));
            KS_TRY(ks_ptx_expect(p, '>'));
            if (n < 1 || n > 4096)
                return ks_ptx_syntax(p, "a count between 1 and 4096");
            count = (uint32_t)n;
        }
        KS_TRY(parse_dims(p, v));
        if (ks_ptx_accept(p, '=')) {
            size_t cap = 0;
            uint32_t off = 0;
            enum ks_code code = parse_init(p, v, &cap, &off, (uint32_t)ks_ptx_type_bytes(v->type), 0);
            struct ptx_init *heap = v->init;
            if (code == KS_OK && v->size_bytes == 0)
                v->size_bytes = off;
            if (code == KS_OK && off > v->size_bytes)
                code = ks_ptx_syntax(p, "an initialiser that fits its variable");
            v->init = KS_ARENA_ARRAY(&p->m->arena, struct ptx_init, v->n_init + 1);
            if (v->n_init)
                memcpy(v->init, heap, sizeof(*heap) * v->n_init);
            free(heap);
            KS_TRY(code);
        }
        for (uint32_t i = 0; i < count; i++) {
            struct ptx_var *each = v;
            if (count > 1) {
                each = KS_ARENA_NEW(&p->m->arena, struct ptx_var);
                *each = *v;
                each->name = ks_arena_printf(&p->m->arena, "%s%u", v->name, i);
            }
            if (p->func) {
                struct ptx_name name = {PTX_NAME_VAR, p->scope, each->name, strlen(each->name), 0, 0, each};
                ks_ptx_names_add(&p->names, &name);
                each->index = (uint32_t)p->vars.n;
                ks_vec_push(&p->vars, each);
            } else {
                ks_vec_push(&p->mvars, each);
            }
            *ret_var = each;
        }
    } while (!is_param && ks_ptx_accept(p, ','));
    return KS_OK;
}

static enum ks_code parse_params(struct ptx_parser *p, struct ptx_var ***ret_list, uint32_t *ret_n, bool kernel)
{
    KS_VEC(struct ptx_var *) list = {0};
    enum ks_code code = ks_ptx_expect(p, '(');
    while (code == KS_OK && !ks_ptx_accept(p, ')')) {
        if (!ks_ptx_is_directive(p, "param") && !ks_ptx_is_directive(p, "reg")) {
            code = ks_ptx_syntax(p, "'.param'");
            break;
        }
        ks_ptx_lex(&p->lx);
        struct ptx_var *v = NULL;
        code = ks_ptx_parse_var(p, PTX_PARAM, false, true, &v);
        if (code != KS_OK)
            break;
        v->is_kernel_param = kernel;
        v->is_formal = true;
        ks_vec_push(&list, v);
        if (!ks_ptx_accept(p, ',') && !(p->lx.tok.kind == PTX_TOK_PUNCT && p->lx.tok.punct == ')'))
            code = ks_ptx_syntax(p, "',' or ')'");
    }
    *ret_list = KS_ARENA_ARRAY(&p->m->arena, struct ptx_var *, list.n + 1);
    if (list.n)
        memcpy(*ret_list, list.data, sizeof(*list.data) * list.n);
    *ret_n = (uint32_t)list.n;
    ks_vec_release(&list);
    return code;
}

static enum ks_code parse_dim3(struct ptx_parser *p, uint32_t dim[3])
{
    int64_t v = 1;
    dim[0] = dim[1] = dim[2] = 1;
    for (int i = 0; i < 3; i++) {
        KS_TRY(ks_ptx_int(p, &v));
        if (v < 1 || v > INT32_MAX)
            return ks_ptx_syntax(p, "a positive dimension");
        dim[i] = (uint32_t)v;
        if (!ks_ptx_accept(p, ','))
            break;
    }
    return KS_OK;
}

static enum ks_code parse_func_directives(struct ptx_parser *p)
{
    struct ptx_func *f = p->func;
    while (p->lx.tok.kind == PTX_TOK_DIRECTIVE) {
        bool max_ntid = ks_ptx_is_directive(p, "maxntid"), req_ntid = ks_ptx_is_directive(p, "reqntid");
        bool cluster = ks_ptx_is_directive(p, "reqnctapercluster");
        bool numbered = ks_ptx_is_directive(p, "minnctapersm") || ks_ptx_is_directive(p, "maxnreg") ||
                        ks_ptx_is_directive(p, "maxnctapersm") || ks_ptx_is_directive(p, "maxclusterrank");
        bool min_ctas = ks_ptx_is_directive(p, "minnctapersm");
        if (ks_ptx_is_directive(p, "noreturn"))
            f->no_return = true;
        bool pragma = ks_ptx_is_directive(p, "pragma");
        ks_ptx_lex(&p->lx);
        uint32_t ignored[3];
        if (max_ntid || req_ntid || cluster)
            KS_TRY(parse_dim3(p, max_ntid ? f->max_ntid : req_ntid ? f->req_ntid : f->cluster));
        else if (numbered)
            KS_TRY(parse_dim3(p, ignored));
        if (min_ctas)
            f->min_ctas = ignored[0];
        if (pragma) {
            ks_ptx_lex(&p->lx);
            (void)ks_ptx_accept(p, ';');
        }
    }
    return KS_OK;
}

static enum ks_code parse_func(struct ptx_parser *p, bool is_entry, bool is_extern)
{
    struct ptx_func *f = KS_ARENA_NEW(&p->m->arena, struct ptx_func);
    f->is_entry = is_entry;
    f->is_extern = is_extern;
    f->ptx_line = p->lx.tok.line;
    p->func = f;
    p->scope = 0;
    p->loc = (struct ptx_line){0};
    p->func_file = 0;
    memset(p->inlined, 0, sizeof(p->inlined));
    ks_ptx_names_release(&p->names);
    ks_ptx_names_init(&p->names);
    p->insns.n = p->regs.n = p->vars.n = p->tables.n = p->table_scope.n = p->table_labels.n = 0;
    while (ks_ptx_is_directive(p, "attribute")) {
        while (p->lx.tok.kind != PTX_TOK_END && !ks_ptx_accept(p, ')'))
            ks_ptx_lex(&p->lx);
    }
    if (p->lx.tok.kind == PTX_TOK_PUNCT && p->lx.tok.punct == '(')
        KS_TRY(parse_params(p, &f->rets, &f->n_rets, false));
    if (p->lx.tok.kind != PTX_TOK_IDENT)
        return ks_ptx_syntax(p, "a function name");
    f->name = ks_arena_strndup(&p->m->arena, p->lx.tok.text, p->lx.tok.len);
    ks_ptx_lex(&p->lx);
    if (p->lx.tok.kind == PTX_TOK_PUNCT && p->lx.tok.punct == '(')
        KS_TRY(parse_params(p, &f->params, &f->n_params, is_entry));
    KS_TRY(parse_func_directives(p));
    if (ks_ptx_accept(p, ';'))
        f->is_extern = true;
    else
        KS_TRY(ks_ptx_parse_body(p));
    ks_vec_push(&p->mfuncs, f);
    p->func = NULL;
    return KS_OK;
}

enum ks_code ks_ptx_parse_file_directive(struct ptx_parser *p)
{
    int64_t index;
    ks_ptx_lex(&p->lx);
    KS_TRY(ks_ptx_int(p, &index));
    if (p->lx.tok.kind != PTX_TOK_STRING || index < 0 || index > 65535)
        return ks_ptx_syntax(p, "a file index and name");
    while (p->files.n <= (size_t)index)
        ks_vec_push(&p->files, NULL);
    p->files.data[index] = ks_arena_strndup(&p->m->arena, p->lx.tok.text, p->lx.tok.len);
    ks_ptx_lex(&p->lx);
    while (ks_ptx_accept(p, ',')) {
        int64_t ignored;
        KS_TRY(ks_ptx_int(p, &ignored));
    }
    return KS_OK;
}

static enum ks_code skip_block(struct ptx_parser *p)
{
    int depth = 0;
    while (p->lx.tok.kind != PTX_TOK_END) {
        char c = p->lx.tok.kind == PTX_TOK_PUNCT ? p->lx.tok.punct : 0;
        ks_ptx_lex(&p->lx);
        if (c == '{')
            depth++;
        if (c == '}' && --depth <= 0)
            return KS_OK;
    }
    return ks_ptx_syntax(p, "'}'");
}

static enum ks_code parse_header(struct ptx_parser *p)
{
    if (ks_ptx_is_directive(p, "version")) {
        ks_ptx_lex(&p->lx);
        double v = 0;
        if (p->lx.tok.kind == PTX_TOK_F64)
            memcpy(&v, &p->lx.tok.bits, 8);
        p->m->version_major = (uint32_t)v;
        p->m->version_minor = (uint32_t)(v * 10 + 0.5) % 10;
    } else if (ks_ptx_is_directive(p, "target")) {
        ks_ptx_lex(&p->lx);
        size_t n = p->lx.tok.len < sizeof(p->m->target) - 1 ? p->lx.tok.len : sizeof(p->m->target) - 1;
        memcpy(p->m->target, p->lx.tok.text, n);
        p->m->target[n] = 0;
        ks_ptx_lex(&p->lx);
        while (ks_ptx_accept(p, ','))
            ks_ptx_lex(&p->lx);
        return KS_OK;
    } else {
        ks_ptx_lex(&p->lx);
        if (p->lx.tok.kind != PTX_TOK_INT || p->lx.tok.bits != 64)
            return ks_ptx_syntax(p, "'.address_size 64'");
    }
    ks_ptx_lex(&p->lx);
    return KS_OK;
}

static enum ks_code parse_alias(struct ptx_parser *p)
{
    ks_ptx_lex(&p->lx);
    for (int i = 0; i < 2; i++) {
        if (p->lx.tok.kind != PTX_TOK_IDENT)
            return ks_ptx_syntax(p, "a function name");
        ks_vec_push(&p->aliases, ks_arena_strndup(&p->m->arena, p->lx.tok.text, p->lx.tok.len));
        ks_ptx_lex(&p->lx);
        if (i == 0)
            KS_TRY(ks_ptx_expect(p, ','));
    }
    return ks_ptx_expect(p, ';');
}

static enum ks_code parse_toplevel(struct ptx_parser *p)
{
    bool is_extern = false;
    for (;;) {
        if (p->lx.tok.kind == PTX_TOK_END)
            return KS_OK;
        if (p->lx.tok.kind != PTX_TOK_DIRECTIVE) {
            if (ks_ptx_accept(p, ';'))
                continue;
            return ks_ptx_syntax(p, "a directive");
        }
        if (ks_ptx_is_directive(p, "version") || ks_ptx_is_directive(p, "target") || ks_ptx_is_directive(p, "address_size")) {
            KS_TRY(parse_header(p));
        } else if (ks_ptx_is_directive(p, "file")) {
            KS_TRY(ks_ptx_parse_file_directive(p));
        } else if (ks_ptx_is_directive(p, "section")) {
            KS_TRY(skip_block(p));
        } else if (ks_ptx_is_directive(p, "pragma")) {
            while (p->lx.tok.kind != PTX_TOK_END && !ks_ptx_accept(p, ';'))
                ks_ptx_lex(&p->lx);
        } else if (ks_ptx_is_directive(p, "alias")) {
            KS_TRY(parse_alias(p));
        } else if (ks_ptx_is_directive(p, "extern")) {
            is_extern = true;
            ks_ptx_lex(&p->lx);
            continue;
        } else if (ks_ptx_is_directive(p, "visible") || ks_ptx_is_directive(p, "weak") || ks_ptx_is_directive(p, "common")) {
            ks_ptx_lex(&p->lx);
            continue;
        } else if (ks_ptx_is_directive(p, "entry") || ks_ptx_is_directive(p, "func")) {
            bool entry = ks_ptx_is_directive(p, "entry");
            ks_ptx_lex(&p->lx);
            KS_TRY(parse_func(p, entry, is_extern));
        } else if (ks_ptx_is_directive(p, "global") || ks_ptx_is_directive(p, "const") || ks_ptx_is_directive(p, "shared")) {
            enum ptx_space space = p->lx.tok.text[0] == 'g' ? PTX_GLOBAL : p->lx.tok.text[0] == 'c' ? PTX_CONST : PTX_SHARED;
            struct ptx_var *v;
            ks_ptx_lex(&p->lx);
            KS_TRY(ks_ptx_parse_var(p, space, is_extern, false, &v));
            KS_TRY(ks_ptx_expect(p, ';'));
        } else {
            return ks_ptx_syntax(p, "a module directive");
        }
        is_extern = false;
    }
}

static void *keep(struct ks_arena *a, const void *data, size_t bytes)
{
    void *copy = ks_arena_alloc(a, bytes ? bytes : 1);
    if (bytes)
        memcpy(copy, data, bytes);
    return copy;
}

enum ks_code ks_ptx_parse(const char *text, size_t len, struct ptx_module **ret_module, struct ks_err *err)
{
    if (len > KS_MAX_PTX_BYTES)
        return ks_fail(err, KS_ERR_LIMIT, "read ptx of %zu bytes, more than KS_MAX_PTX_BYTES", len);
    struct ptx_module *m = ks_xcalloc(1, sizeof(*m));
    ks_arena_init(&m->arena);
    struct ptx_parser p = {.m = m, .err = err};
    ks_ptx_names_init(&p.names);
    ks_ptx_lexer_init(&p.lx, text, len);
    enum ks_code code = parse_toplevel(&p);
    m->vars = keep(&m->arena, p.mvars.data, p.mvars.n * sizeof(*p.mvars.data));
    m->n_vars = (uint32_t)p.mvars.n;
    m->funcs = keep(&m->arena, p.mfuncs.data, p.mfuncs.n * sizeof(*p.mfuncs.data));
    m->n_funcs = (uint32_t)p.mfuncs.n;
    m->files = keep(&m->arena, p.files.data, p.files.n * sizeof(*p.files.data));
    m->n_files = (uint32_t)p.files.n;
    m->aliases = keep(&m->arena, p.aliases.data, p.aliases.n * sizeof(*p.aliases.data));
    m->n_aliases = (uint32_t)p.aliases.n;
    ks_ptx_names_release(&p.names);
    ks_vec_release(&p.insns);
    ks_vec_release(&p.regs);
    ks_vec_release(&p.vars);
    ks_vec_release(&p.tables);
    ks_vec_release(&p.table_scope);
    ks_vec_release(&p.table_labels);
    ks_vec_release(&p.operand_stack);
    ks_vec_release(&p.mvars);
    ks_vec_release(&p.mfuncs);
    ks_vec_release(&p.files);
    ks_vec_release(&p.aliases);
    if (code != KS_OK) {
        ks_ptx_free(m);
        return code;
    }
    *ret_module = m;
    return KS_OK;
}

void ks_ptx_free(struct ptx_module *m)
{
    if (!m)
        return;
    ks_arena_release(&m->arena);
    free(m);
}

struct ptx_func *ks_ptx_func(const struct ptx_module *m, const char *name)
{
    struct ptx_func *found = NULL;
    for (uint32_t i = 0; i < m->n_aliases; i += 2)
        if (ks_streq(m->aliases[i], name))
            name = m->aliases[i + 1];
    for (uint32_t i = 0; i < m->n_funcs; i++)
        if (ks_streq(m->funcs[i]->name, name) && (!found || found->is_extern))
            found = m->funcs[i];
    return found;
}

struct ptx_var *ks_ptx_var(const struct ptx_module *m, const char *name)
{
    struct ptx_var *found = NULL;
    for (uint32_t i = 0; i < m->n_vars; i++)
        if (ks_streq(m->vars[i]->name, name) && (!found || found->is_extern))
            found = m->vars[i];
    return found;
}
