#include "harness/emulated/ptx_parse.h"

#include <string.h>

#define MAX_DEPTH 8

/* Pops the operands above `from` off the stack into the arena. */
static struct ptx_operand *take(struct ptx_parser *p, size_t from, uint32_t *ret_n)
{
    size_t n = p->operand_stack.n - from;
    struct ptx_operand *list = KS_ARENA_ARRAY(&p->m->arena, struct ptx_operand, n + 1);
    if (n)
        memcpy(list, p->operand_stack.data + from, n * sizeof(*list));
    p->operand_stack.n = from;
    *ret_n = (uint32_t)n;
    return list;
}

static enum ks_code parse_operand(struct ptx_parser *p, struct ptx_operand *ret_op, int depth);

/* Comma-separated operands up to `close`, which is consumed. */
static enum ks_code parse_list(struct ptx_parser *p, char close, struct ptx_operand *op, int depth)
{
    size_t from = p->operand_stack.n;
    if (depth > MAX_DEPTH)
        return ks_ptx_syntax(p, "fewer nested operands");
    if (!ks_ptx_accept(p, close)) {
        for (;;) {
            struct ptx_operand sub;
            KS_TRY(parse_operand(p, &sub, depth + 1));
            ks_vec_push(&p->operand_stack, sub);
            if (ks_ptx_accept(p, close))
                break;
            KS_TRY(ks_ptx_expect(p, ','));
        }
    }
    op->sub = take(p, from, &op->n_sub);
    return KS_OK;
}

static enum ks_code parse_number(struct ptx_parser *p, struct ptx_operand *op)
{
    struct ptx_token *t = &p->lx.tok;
    bool negative = ks_ptx_accept(p, '-');
    op->kind = t->kind == PTX_TOK_INT ? PTX_OP_INT : t->kind == PTX_TOK_F32 ? PTX_OP_F32 : PTX_OP_F64;
    if (t->kind != PTX_TOK_INT && t->kind != PTX_TOK_F32 && t->kind != PTX_TOK_F64)
        return ks_ptx_syntax(p, "an operand");
    op->bits = t->bits;
    if (negative)
        op->bits = op->kind == PTX_OP_INT ? 0 - op->bits : op->bits ^ (op->kind == PTX_OP_F32 ? 0x80000000u : 1ull << 63);
    ks_ptx_lex(&p->lx);
    return KS_OK;
}

static enum ks_code parse_name(struct ptx_parser *p, struct ptx_operand *op)
{
    struct ptx_token *t = &p->lx.tok;
    op->kind = t->len == 1 && t->text[0] == '_' ? PTX_OP_SINK : PTX_OP_NAME;
    op->name = ks_arena_strndup(&p->m->arena, t->text, t->len);
    op->scope = p->scope;
    ks_ptx_lex(&p->lx);
    if (t->kind == PTX_TOK_DIRECTIVE && t->len == 1 && strchr("xyzw", t->text[0])) {
        op->component = t->text[0];
        ks_ptx_lex(&p->lx);
    } else if (t->kind == PTX_TOK_DIRECTIVE && t->len >= 2 && t->len <= 5 && (t->text[0] == 'b' || t->text[0] == 'h') &&
               t->text[1] >= '0' && t->text[1] <= '7') {
        op->selector = ks_arena_strndup(&p->m->arena, t->text, t->len);
        ks_ptx_lex(&p->lx);
    } else if (t->kind == PTX_TOK_PUNCT && (t->punct == '+' || t->punct == '-')) {
        int64_t add;
        bool minus = ks_ptx_accept(p, '-');
        if (!minus)
            ks_ptx_lex(&p->lx);
        KS_TRY(ks_ptx_int(p, &add));
        op->bits = (uint64_t)(minus ? -add : add);
    }
    return KS_OK;
}

static enum ks_code parse_operand(struct ptx_parser *p, struct ptx_operand *ret_op, int depth)
{
    struct ptx_operand op = {0};
    struct ptx_token *t = &p->lx.tok;
    if (ks_ptx_accept(p, '{')) {
        op.kind = PTX_OP_VEC;
        KS_TRY(parse_list(p, '}', &op, depth));
    } else if (ks_ptx_accept(p, '(')) {
        op.kind = PTX_OP_LIST;
        KS_TRY(parse_list(p, ')', &op, depth));
    } else if (ks_ptx_accept(p, '[')) {
        op.kind = PTX_OP_MEM;
        KS_TRY(parse_list(p, ']', &op, depth));
        if (op.n_sub == 0)
            return ks_ptx_syntax(p, "an address");
    } else if (ks_ptx_accept(p, '!')) {
        KS_TRY(parse_operand(p, &op, depth + 1));
        op.negated = true;
    } else if (t->kind == PTX_TOK_IDENT) {
        KS_TRY(parse_name(p, &op));
    } else if (t->kind == PTX_TOK_PUNCT && t->punct == '-' && !ks_ptx_peek_is(&p->lx, '0') && depth < MAX_DEPTH) {
        ks_ptx_lex(&p->lx);
        if (t->kind == PTX_TOK_IDENT) {
            KS_TRY(parse_name(p, &op));
            op.negated = true;
        } else {
            KS_TRY(parse_number(p, &op));
            op.bits = op.kind == PTX_OP_INT ? 0 - op.bits : op.bits ^ (op.kind == PTX_OP_F32 ? 0x80000000u : 1ull << 63);
        }
    } else {
        KS_TRY(parse_number(p, &op));
    }
    if (t->kind == PTX_TOK_PUNCT && t->punct == '|' && op.kind != PTX_OP_PAIR && depth < MAX_DEPTH) {
        ks_ptx_lex(&p->lx);
        struct ptx_operand *sub = KS_ARENA_ARRAY(&p->m->arena, struct ptx_operand, 2);
        sub[0] = op;
        KS_TRY(parse_operand(p, &sub[1], MAX_DEPTH));
        op = (struct ptx_operand){.kind = PTX_OP_PAIR, .sub = sub, .n_sub = 2};
    }
    *ret_op = op;
    return KS_OK;
}

static void split_opcode(struct ptx_parser *p, struct ptx_insn *in)
{
    const char *s = in->op;
    const char *pieces[32];
    uint32_t n = 0;
    for (;;) {
        const char *dot = strchr(s, '.');
        size_t len = dot ? (size_t)(dot - s) : strlen(s);
        if (n < 32)
            pieces[n++] = ks_arena_strndup(&p->m->arena, s, len);
        if (!dot)
            break;
        s = dot + 1;
    }
    in->base = pieces[0];
    in->n_mods = n - 1;
    in->mods = KS_ARENA_ARRAY(&p->m->arena, const char *, n);
    memcpy(in->mods, pieces + 1, (n - 1) * sizeof(*pieces));
}

static enum ks_code parse_insn(struct ptx_parser *p)
{
    struct ptx_insn in = {.ptx_line = p->lx.tok.line, .line = p->loc};
    if (ks_ptx_accept(p, '@')) {
        in.has_pred = true;
        KS_TRY(parse_operand(p, &in.pred, 0));
        in.pred_negated = in.pred.negated;
    }
    if (p->lx.tok.kind != PTX_TOK_IDENT)
        return ks_ptx_syntax(p, "an instruction");
    ks_ptx_lex_opcode(&p->lx);
    in.op = ks_arena_strndup(&p->m->arena, p->lx.tok.text, p->lx.tok.len);
    in.ptx_line = p->lx.tok.line;
    split_opcode(p, &in);
    ks_ptx_lex(&p->lx);
    struct ptx_operand list = {0};
    KS_TRY(parse_list(p, ';', &list, 0));
    if (list.n_sub > PTX_MAX_OPERANDS)
        return ks_fail_at(p->err, KS_ERR_LIMIT, "<ptx>", in.ptx_line, 0, "read '%s' with %u operands in ptx line %u", in.op,
                          list.n_sub, in.ptx_line);
    in.operands = list.sub;
    in.n_operands = list.n_sub;
    ks_vec_push(&p->insns, in);
    return KS_OK;
}

static enum ks_code parse_reg(struct ptx_parser *p)
{
    struct ptx_token *t = &p->lx.tok;
    ks_ptx_lex(&p->lx);
    uint32_t vec = 1;
    if (ks_ptx_is_directive(p, "v2") || ks_ptx_is_directive(p, "v4"))
        return ks_fail_at(p->err, KS_ERR_UNSUPPORTED, "<ptx>", t->line, 0, "declare vector registers in ptx line %u", t->line);
    enum ptx_type type = t->kind == PTX_TOK_DIRECTIVE ? ks_ptx_type_find(t->text, t->len) : PTX_NONE;
    if (type == PTX_NONE)
        return ks_ptx_syntax(p, "a register type");
    ks_ptx_lex(&p->lx);
    do {
        if (t->kind != PTX_TOK_IDENT)
            return ks_ptx_syntax(p, "a register name");
        struct ptx_name name = {
            PTX_NAME_REG, p->scope, ks_arena_strndup(&p->m->arena, t->text, t->len), t->len, (uint32_t)p->regs.n, 1, NULL};
        ks_ptx_lex(&p->lx);
        if (ks_ptx_accept(p, '<')) {
            int64_t n;
            KS_TRY(ks_ptx_int(p, &n));
            if (n < 0 || n > 1000000)
                return ks_ptx_syntax(p, "at most 1000000 registers");
            KS_TRY(ks_ptx_expect(p, '>'));
            name.kind = PTX_NAME_REG_RANGE;
            name.count = (uint32_t)n;
        }
        if (p->regs.n + name.count > 4000000)
            return ks_ptx_syntax(p, "fewer registers");
        for (uint32_t i = 0; i < name.count * vec; i++) {
            struct ptx_reg r = {name.text, type};
            ks_vec_push(&p->regs, r);
        }
        ks_ptx_names_add(&p->names, &name);
    } while (ks_ptx_accept(p, ','));
    return ks_ptx_expect(p, ';');
}

static struct ptx_inlined *inlined_slot(struct ptx_parser *p, struct ptx_line place)
{
    return &p->inlined[(place.file * 0x9e3779b1u ^ place.line * 0x85ebca6bu) >> 16 & (PTX_INLINED - 1)];
}

/* .loc file line column [, function_name label [+ n], inlined_at file line column] */
static enum ks_code parse_loc(struct ptx_parser *p)
{
    int64_t file, line, col;
    ks_ptx_lex(&p->lx);
    KS_TRY(ks_ptx_int(p, &file));
    KS_TRY(ks_ptx_int(p, &line));
    KS_TRY(ks_ptx_int(p, &col));
    struct ptx_line at = {(uint32_t)file, (uint32_t)line};
    while (ks_ptx_accept(p, ',')) {
        if (p->lx.tok.kind != PTX_TOK_IDENT)
            return ks_ptx_syntax(p, "'function_name' or 'inlined_at'");
        bool inlined = p->lx.tok.text[0] == 'i';
        ks_ptx_lex(&p->lx);
        if (inlined) {
            int64_t outer[3];
            for (int i = 0; i < 3; i++)
                KS_TRY(ks_ptx_int(p, &outer[i]));
            /* code of another file (a CUDA header) counts where the kernel's own file calls it, however deep that is: the
             * directive of the place it is inlined at came before */
            if (p->func_file && (uint32_t)file != p->func_file && outer[1] > 0) {
                at = (struct ptx_line){(uint32_t)outer[0], (uint32_t)outer[1]};
                const struct ptx_inlined *via = inlined_slot(p, at);
                if (at.file != p->func_file && via->place.file == at.file && via->place.line == at.line)
                    at = via->at;
                struct ptx_line place = {(uint32_t)file, (uint32_t)line};
                *inlined_slot(p, place) = (struct ptx_inlined){place, at};
            }
        } else {
            ks_ptx_lex(&p->lx);
            if (ks_ptx_accept(p, '+'))
                KS_TRY(ks_ptx_int(p, &col));
        }
    }
    if (!p->func_file)
        p->func_file = (uint32_t)file;
    if (at.line > 0) /* line 0: the compiler names no place; the last one stays the best guess */
        p->loc = at;
    return KS_OK;
}

static enum ks_code skip_to_semicolon(struct ptx_parser *p)
{
    while (p->lx.tok.kind != PTX_TOK_END) {
        if (ks_ptx_accept(p, ';'))
            return KS_OK;
        ks_ptx_lex(&p->lx);
    }
    return ks_ptx_syntax(p, "';'");
}

static enum ks_code parse_body_directive(struct ptx_parser *p)
{
    static const struct {
        const char *name;
        enum ptx_space space;
    } spaces[] = {
        {"local", PTX_LOCAL}, {"shared", PTX_SHARED}, {"param", PTX_PARAM}, {"global", PTX_GLOBAL}, {"const", PTX_CONST}};
    if (ks_ptx_is_directive(p, "reg"))
        return parse_reg(p);
    if (ks_ptx_is_directive(p, "loc"))
        return parse_loc(p);
    if (ks_ptx_is_directive(p, "file"))
        return ks_ptx_parse_file_directive(p);
    bool is_extern = ks_ptx_is_directive(p, "extern");
    if (is_extern)
        ks_ptx_lex(&p->lx);
    for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++) {
        if (!ks_ptx_is_directive(p, spaces[i].name))
            continue;
        struct ptx_var *v;
        ks_ptx_lex(&p->lx);
        KS_TRY(ks_ptx_parse_var(p, spaces[i].space, is_extern, false, &v));
        return ks_ptx_expect(p, ';');
    }
    if (ks_ptx_is_directive(p, "pragma") || ks_ptx_is_directive(p, "callprototype") || ks_ptx_is_directive(p, "calltargets") ||
        ks_ptx_is_directive(p, "pragma"))
        return skip_to_semicolon(p);
    return ks_ptx_syntax(p, "an instruction or directive");
}

static enum ks_code parse_label(struct ptx_parser *p)
{
    struct ptx_token *t = &p->lx.tok;
    struct ptx_name name = {
        PTX_NAME_LABEL, p->scope, ks_arena_strndup(&p->m->arena, t->text, t->len), t->len, (uint32_t)p->insns.n, 0, NULL};
    ks_ptx_lex(&p->lx);
    KS_TRY(ks_ptx_expect(p, ':'));
    if (ks_ptx_is_directive(p, "branchtargets")) {
        struct ptx_operand *list = KS_ARENA_NEW(&p->m->arena, struct ptx_operand);
        ks_ptx_lex(&p->lx);
        KS_TRY(parse_list(p, ';', list, 0));
        name.kind = PTX_NAME_TABLE;
        name.index = (uint32_t)p->tables.n;
        struct ptx_table table = {0};
        ks_vec_push(&p->tables, table);
        ks_vec_push(&p->table_scope, p->scope);
        ks_vec_push(&p->table_labels, list);
    }
    ks_ptx_names_add(&p->names, &name);
    return KS_OK;
}

static bool is_special(const char *name)
{
    static const char *const known[] = {"%tid",
                                        "%ntid",
                                        "%laneid",
                                        "%warpid",
                                        "%nwarpid",
                                        "%ctaid",
                                        "%nctaid",
                                        "%smid",
                                        "%nsmid",
                                        "%gridid",
                                        "%is_explicit_cluster",
                                        "%clusterid",
                                        "%nclusterid",
                                        "%cluster_ctaid",
                                        "%cluster_nctaid",
                                        "%cluster_ctarank",
                                        "%cluster_nctarank",
                                        "%lanemask_eq",
                                        "%lanemask_le",
                                        "%lanemask_lt",
                                        "%lanemask_ge",
                                        "%lanemask_gt",
                                        "%clock",
                                        "%clock_hi",
                                        "%clock64",
                                        "%globaltimer",
                                        "%globaltimer_lo",
                                        "%globaltimer_hi",
                                        "%total_smem_size",
                                        "%aggr_smem_size",
                                        "%dynamic_smem_size",
                                        "%current_graph_exec",
                                        "%reserved_smem_offset_begin",
                                        "%reserved_smem_offset_end",
                                        "%reserved_smem_offset_cap",
                                        "WARP_SZ"};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (ks_streq(known[i], name))
            return true;
    return ks_str_starts(name, "%pm") || ks_str_starts(name, "%envreg") || ks_str_starts(name, "%reserved_smem_offset_");
}

static enum ks_code resolve(struct ptx_parser *p, struct ptx_operand *op, uint32_t line, bool call)
{
    for (uint32_t i = 0; i < op->n_sub; i++)
        KS_TRY(resolve(p, &op->sub[i], line, call));
    if (op->kind != PTX_OP_NAME)
        return KS_OK;
    uint32_t index = 0;
    const struct ptx_name *n = ks_ptx_names_find(&p->names, op->scope, op->name, strlen(op->name), &index);
    if (n) {
        op->index = index;
        op->var = n->var;
        op->kind = n->kind == PTX_NAME_VAR     ? PTX_OP_VAR
                   : n->kind == PTX_NAME_LABEL ? PTX_OP_LABEL
                   : n->kind == PTX_NAME_TABLE ? PTX_OP_TABLE
                                               : PTX_OP_REG;
        return KS_OK;
    }
    if (is_special(op->name)) {
        op->kind = PTX_OP_SREG;
        return KS_OK;
    }
    for (size_t i = 0; i < p->mvars.n; i++) {
        if (ks_streq(p->mvars.data[i]->name, op->name)) {
            op->kind = PTX_OP_VAR;
            op->var = p->mvars.data[i];
            return KS_OK;
        }
    }
    bool is_func = call || ks_streq(p->func->name, op->name);
    for (size_t i = 0; !is_func && i < p->mfuncs.n; i++)
        is_func = ks_streq(p->mfuncs.data[i]->name, op->name);
    if (!is_func)
        return ks_fail_at(p->err, KS_ERR_SYNTAX, "<ptx>", line, 0, "found no declaration of '%s' used in ptx line %u", op->name,
                          line);
    op->kind = PTX_OP_FUNC;
    return KS_OK;
}

static enum ks_code resolve_all(struct ptx_parser *p)
{
    for (size_t i = 0; i < p->insns.n; i++) {
        struct ptx_insn *in = &p->insns.data[i];
        bool call = ks_streq(in->base, "call");
        for (uint32_t k = 0; k < in->n_operands; k++)
            KS_TRY(resolve(p, &in->operands[k], in->ptx_line, call));
        if (!in->has_pred)
            continue;
        KS_TRY(resolve(p, &in->pred, in->ptx_line, false));
        if (in->pred.kind != PTX_OP_REG || p->regs.data[in->pred.index].type != PTX_pred)
            return ks_fail_at(p->err, KS_ERR_SYNTAX, "<ptx>", in->ptx_line, 0, "guard ptx line %u by something not a predicate",
                              in->ptx_line);
        in->pred_reg = in->pred.index;
    }
    for (size_t t = 0; t < p->tables.n; t++) {
        struct ptx_operand *list = p->table_labels.data[t];
        struct ptx_table *table = &p->tables.data[t];
        table->n = list->n_sub;
        table->targets = KS_ARENA_ARRAY(&p->m->arena, uint32_t, list->n_sub + 1);
        for (uint32_t i = 0; i < list->n_sub; i++) {
            KS_TRY(resolve(p, &list->sub[i], p->func->ptx_line, false));
            if (list->sub[i].kind != PTX_OP_LABEL)
                return ks_fail_at(p->err, KS_ERR_SYNTAX, "<ptx>", p->func->ptx_line, 0, "read a branch target that is no label");
            table->targets[i] = list->sub[i].index;
        }
    }
    return KS_OK;
}

static void *keep(struct ptx_parser *p, const void *data, size_t bytes)
{
    void *copy = ks_arena_alloc(&p->m->arena, bytes ? bytes : 1);
    if (bytes)
        memcpy(copy, data, bytes);
    return copy;
}

enum ks_code ks_ptx_parse_body(struct ptx_parser *p)
{
    struct ptx_func *f = p->func;
    int depth = 1;
    KS_TRY(ks_ptx_expect(p, '{'));
    while (depth > 0) {
        struct ptx_token *t = &p->lx.tok;
        if (t->kind == PTX_TOK_END)
            return ks_ptx_syntax(p, "'}'");
        if (ks_ptx_accept(p, '{')) {
            p->scope = ks_ptx_names_scope(&p->names, p->scope);
            depth++;
        } else if (ks_ptx_accept(p, '}')) {
            p->scope = p->names.parent.data[p->scope];
            depth--;
        } else if (t->kind == PTX_TOK_DIRECTIVE) {
            KS_TRY(parse_body_directive(p));
        } else if (t->kind == PTX_TOK_IDENT && ks_ptx_peek_is(&p->lx, ':')) {
            KS_TRY(parse_label(p));
        } else if (!ks_ptx_accept(p, ';')) {
            KS_TRY(parse_insn(p));
        }
    }
    KS_TRY(resolve_all(p));
    f->insns = keep(p, p->insns.data, p->insns.n * sizeof(*p->insns.data));
    f->n_insns = (uint32_t)p->insns.n;
    f->regs = keep(p, p->regs.data, p->regs.n * sizeof(*p->regs.data));
    f->n_regs = (uint32_t)p->regs.n;
    f->vars = keep(p, p->vars.data, p->vars.n * sizeof(*p->vars.data));
    f->n_vars = (uint32_t)p->vars.n;
    f->tables = keep(p, p->tables.data, p->tables.n * sizeof(*p->tables.data));
    f->n_tables = (uint32_t)p->tables.n;
    return KS_OK;
}
