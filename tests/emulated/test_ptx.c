/* The PTX reader on its own: scopes, ranges, initialisers, line information, and errors that say where. */

#include "harness/emulated/ptx_ast.h"
#include "tests/unit/test.h"

static struct ptx_module *parse(const char *text, struct ks_err *err)
{
    struct ptx_module *m = NULL;
    return ks_ptx_parse(text, strlen(text), &m, err) == KS_OK ? m : NULL;
}

#define HEAD ".version 8.7\n.target sm_90a\n.address_size 64\n"

TEST(header_and_variables)
{
    struct ks_err err = {0};
    struct ptx_module *m = parse(HEAD ".global .align 8 .u64 p[2] = {q, 7};\n.const .f32 c = 0f3F800000;\n.global .u32 q;\n"
                                      ".extern .shared .align 1024 .b8 dyn[];\n",
                                 &err);
    CHECK(m != NULL);
    if (!m)
        return;
    CHECK_STR(m->target, "sm_90a");
    CHECK_INT(m->version_major * 10 + m->version_minor, 87);
    CHECK_INT(m->n_vars, 4);
    struct ptx_var *p = ks_ptx_var(m, "p");
    CHECK_INT(p->size_bytes, 16);
    CHECK_INT(p->n_init, 2);
    CHECK_STR(p->init[0].sym, "q");
    CHECK_INT(p->init[1].off_byte, 8);
    CHECK_INT(ks_ptx_var(m, "c")->init[0].value, 0x3f800000);
    CHECK_INT(ks_ptx_var(m, "dyn")->align, 1024);
    CHECK(ks_ptx_var(m, "dyn")->is_extern);
    ks_ptx_free(m);
}

TEST(names_belong_to_their_scope)
{
    struct ks_err err = {0};
    struct ptx_module *m =
        parse(HEAD ".visible .entry k()\n{\n.reg .b32 %r<4>;\n{\n.reg .b32 t;\nmov.b32 t, 1;\nL: bra L;\n}\n{\n.reg .b32 t;\n"
                   "mov.b32 t, %r3;\nL: bra L;\n}\nret;\n}\n",
              &err);
    CHECK(m != NULL);
    if (!m)
        return;
    const struct ptx_func *f = ks_ptx_func(m, "k");
    CHECK_INT(f->n_insns, 5);
    CHECK(f->insns[0].operands[0].index != f->insns[2].operands[0].index);
    CHECK_INT(f->insns[1].operands[0].index, 1);
    CHECK_INT(f->insns[3].operands[0].index, 3);
    CHECK_INT(f->insns[2].operands[1].index, 3);
    ks_ptx_free(m);
}

TEST(opcodes_split_at_dots_only)
{
    struct ks_err err = {0};
    struct ptx_module *m =
        parse(HEAD ".entry k(.param .u64 a)\n{\n.reg .b64 %rd1;\n.reg .f32 %f<4>;\n.reg .pred p;\nld.param.u64 %rd1, [a];\n"
                   "@!p ld.global.L1::no_allocate.v4.f32 {%f0, _, %f2, %f3}, [%rd1+-16];\nret;\n}\n",
              &err);
    CHECK(m != NULL);
    if (!m)
        return;
    const struct ptx_insn *in = &ks_ptx_func(m, "k")->insns[1];
    CHECK_STR(in->base, "ld");
    CHECK_INT(in->n_mods, 4);
    CHECK_STR(in->mods[1], "L1::no_allocate");
    CHECK(in->has_pred && in->pred_negated);
    CHECK_INT(in->operands[0].n_sub, 4);
    CHECK_INT(in->operands[0].sub[1].kind, PTX_OP_SINK);
    CHECK_INT((int64_t)in->operands[1].sub[0].bits, -16);
    ks_ptx_free(m);
}

TEST(code_of_a_header_counts_where_it_is_called)
{
    struct ks_err err = {0};
    struct ptx_module *m = parse(HEAD ".entry k()\n{\n.loc 1 10 3\nnop;\n.loc 2 373 9, function_name $L__info, inlined_at 1 12 "
                                      "5\nnop;\n.loc 1 0 0\nnop;\nret;\n}\n"
                                      ".file 1 \"/src/a.cu\"\n.file 2 \"/cuda/include/x.hpp\"\n",
                                 &err);
    CHECK(m != NULL);
    if (!m)
        return;
    const struct ptx_func *f = ks_ptx_func(m, "k");
    CHECK_INT(f->insns[0].line.line, 10);
    CHECK_INT(f->insns[1].line.line, 12);
    CHECK_INT(f->insns[1].line.file, 1);
    CHECK_INT(f->insns[2].line.line, 12);
    CHECK_STR(m->files[1], "/src/a.cu");
    ks_ptx_free(m);
}

TEST(errors_name_the_line)
{
    static const struct {
        const char *text, *message;
        int line;
    } bad[] = {
        {HEAD ".entry k()\n{\n.reg .b32 %r<2>;\nadd.s32 %r1, %r7, 1;\nret;\n}\n", "%r7", 7},
        {HEAD ".entry k()\n{\nbra nowhere;\n}\n", "nowhere", 6},
        {HEAD ".entry k()\n{\nret;\n", "'}'", 7},
        {HEAD ".global .u32 x[2] = {1, 2, 3};\n", "fits", 4},
        {HEAD ".global .align 3 .u32 x;\n", "power of two", 4},
        {".version 8.7\n.target sm_90\n.address_size 32\n", "address_size 64", 3},
        {HEAD "add.s32 %r1, %r2, 1;\n", "directive", 4},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct ks_err err = {0};
        CHECK(parse(bad[i].text, &err) == NULL);
        CHECK_INT(err.code, KS_ERR_SYNTAX);
        CHECK_CONTAINS(err.message, bad[i].message);
        CHECK_INT(err.loc.line, bad[i].line);
    }
}

TEST_MAIN
