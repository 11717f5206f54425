#include "tests/emulated/isa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Instruction tests of memory: loads and stores of every space, atomics, asynchronous copies, matrices in shared memory. */

static const char *space_of(const struct isa_emitter *e)
{
    static const char *const spaces[] = {"global", "shared", "local", "const", "param", "shared::cta"};
    for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++)
        if (isa_has(e, spaces[i]))
            return spaces[i];
    return "";
}

static int vector_of(const struct isa_emitter *e)
{
    return isa_has(e, "v8") ? 8 : isa_has(e, "v4") ? 4 : isa_has(e, "v2") ? 2 : 1;
}

static bool is_shared(const char *space)
{
    return strncmp(space, "shared", 6) == 0;
}

/* Declares the thread's 64 bytes of the space and returns their address as an operand. */
static const char *place(struct isa_emitter *e, const char *space)
{
    if (is_shared(space)) {
        const char *r = isa_reg(e, 4), *s = isa_reg(e, 4);
        ks_str_addf(e->o, "\t.shared .align 128 .b8 sh[%d];\n\tmov.u32 %s, sh;\n\tshl.b32 %s, t1, 6;\n\tadd.s32 %s, %s, %s;\n",
                    ISA_BLOCK * 64, r, s, r, r, s);
        return r;
    }
    if (strcmp(space, "local") == 0) {
        ks_str_add(e->o, "\t.local .align 64 .b8 lc[64];\n");
        return "lc";
    }
    return "mem_at";
}

static void policy(struct isa_emitter *e, const char **ret_policy)
{
    *ret_policy = NULL;
    if (!isa_has(e, "L2::cache_hint"))
        return;
    *ret_policy = isa_reg(e, 8);
    ks_str_addf(e->o, "\tcreatepolicy.fractional.L2::evict_first.b64 %s, 1.0;\n", *ret_policy);
}

static void vector(struct ks_str *o, const char *const *r, int n)
{
    ks_str_add(o, n > 1 ? "{" : "");
    for (int i = 0; i < n; i++)
        ks_str_addf(o, "%s%s", i ? ", " : "", r[i]);
    ks_str_add(o, n > 1 ? "}" : "");
}

static bool emit_load(struct isa_emitter *e)
{
    const char *space = space_of(e), *at, *p, *r[8] = {0};
    int n = vector_of(e);
    if ((strcmp(e->mod[0], "ld") != 0 && strcmp(e->mod[0], "ldu") != 0) || e->n_type != 1 || strcmp(space, "param") == 0)
        return false;
    uint32_t bytes = isa_type_bytes(e->type[0]), lane = bytes < 2 ? 2 : bytes;
    at = place(e, space);
    policy(e, &p);
    if (strcmp(space, "global") == 0 || space[0] == 0 || strcmp(space, "const") == 0) {
        e->io->n_in = (uint32_t)n * bytes > 16 ? 2 : 1;
        for (uint32_t k = 0; k < e->io->n_in; k++)
            e->io->in[k] = (struct isa_operand){.kind = ISA_INT, .bytes = 16};
        at = strcmp(space, "const") == 0 ? "isa_const" : "in_at";
    } else {
        for (int k = 0; k < ((uint32_t)n * bytes > 16 ? 4 : 2); k++)
            ks_str_addf(e->o, "\tst.%s.b64 [%s + %d], %s;\n", space, at, 8 * k, isa_in(e, ISA_INT, 8));
    }
    for (int i = 0; i < n; i++)
        r[i] = isa_reg(e, lane);
    ks_str_addf(e->o, "\t%s ", e->opcode);
    vector(e->o, r, n);
    ks_str_addf(e->o, ", [%s]%s%s;\n", at, p ? ", " : "", p ? p : "");
    for (int i = 0; i < n; i++)
        isa_out(e, r[i], lane);
    return true;
}

static bool emit_store(struct isa_emitter *e)
{
    const char *space = space_of(e), *at, *p, *r[8] = {0};
    int n = vector_of(e);
    if (strcmp(e->mod[0], "st") != 0 || e->n_type != 1 || strcmp(space, "param") == 0)
        return false;
    uint32_t bytes = isa_type_bytes(e->type[0]), lane = bytes < 2 ? 2 : bytes, total = (uint32_t)n * bytes;
    at = place(e, space);
    policy(e, &p);
    for (int i = 0; i < n; i++)
        r[i] = isa_in(e, ISA_INT, lane);
    for (uint32_t k = 0; k < 32; k += 8)
        ks_str_addf(e->o, "\tst%s%s.b64 [%s + %u], -1;\n", space[0] ? "." : "", space, at, k);
    ks_str_addf(e->o, "\t%s [%s], ", e->opcode, at);
    vector(e->o, r, n);
    ks_str_addf(e->o, "%s%s;\n", p ? ", " : "", p ? p : "");
    for (uint32_t k = 0; k < (total > 16 ? 32u : 16u); k += 8) {
        const char *back = isa_reg(e, 8);
        ks_str_addf(e->o, "\tld%s%s.b64 %s, [%s + %u];\n", space[0] ? "." : "", space, back, at, k);
        isa_out(e, back, 8);
    }
    return true;
}

/* st.param and ld.param around a call of isa_echo(), which gives its argument back. */
static bool emit_param(struct isa_emitter *e)
{
    const char *r[8], *d[8];
    int n = vector_of(e);
    bool store = strcmp(e->mod[0], "st") == 0;
    if (strcmp(space_of(e), "param") != 0 || e->n_type != 1 || (!store && strcmp(e->mod[0], "ld") != 0))
        return false;
    uint32_t bytes = isa_type_bytes(e->type[0]), lane = bytes < 2 ? 2 : bytes;
    for (int i = 0; i < n; i++) {
        r[i] = isa_in(e, ISA_INT, lane);
        d[i] = isa_reg(e, lane);
    }
    char plain[24]; /* the other side of the exchange, by bits */
    (void)snprintf(plain, sizeof(plain), "%sb%u", n == 4 ? "v4." : n == 2 ? "v2." : "", bytes * 8);
    ks_str_add(e->o, "\t{\n\t.param .align 16 .b8 pa[32];\n\t.param .align 16 .b8 pr[32];\n");
    for (int k = 0; k < 32; k += 8)
        ks_str_addf(e->o, "\tst.param.b64 [pa + %d], 0;\n", k);
    ks_str_addf(e->o, "\t%s%s [pa], ", store ? "" : "st.param.", store ? e->opcode : plain);
    vector(e->o, r, n);
    ks_str_addf(e->o, ";\n\tcall.uni (pr), isa_echo, (pa);\n\t%s%s ", store ? "ld.param." : "", store ? plain : e->opcode);
    vector(e->o, d, n);
    ks_str_add(e->o, ", [pr];\n\t}\n");
    for (int i = 0; i < n; i++)
        isa_out(e, d[i], lane);
    return true;
}

static bool emit_atomic(struct isa_emitter *e)
{
    const char *space = space_of(e), *at, *d[8] = {0}, *b[8] = {0}, *c = NULL;
    bool red = strcmp(e->mod[0], "red") == 0, cas = isa_has(e, "cas");
    int n = vector_of(e);
    if ((!red && strcmp(e->mod[0], "atom") != 0) || e->n_type < 1 || isa_has(e, "async"))
        return false;
    const char *t = e->type[0];
    uint32_t bytes = isa_type_bytes(t);
    at = place(e, space);
    char st[16];
    (void)snprintf(st, sizeof(st), "%s%s", space[0] ? "." : "", space);
    for (int i = 0; i < n; i++) {
        const char *init = isa_in_type(e, t);
        ks_str_addf(e->o, "\tst%s.b%u [%s + %u], %s;\n", st, bytes * 8, at, (uint32_t)i * bytes, init);
        if (i == 0 && cas) { /* every other thread compares with what is there */
            const char *other = isa_in_type(e, t), *p = isa_reg(e, 1), *q = isa_reg(e, 4), *s = isa_reg(e, bytes);
            if (bytes == 16) {
                b[0] = other;
            } else {
                ks_str_addf(e->o, "\tand.b32 %s, t1, 1;\n\tsetp.ne.b32 %s, %s, 0;\n\tselp.b%u %s, %s, %s, %s;\n", q, p, q,
                            bytes * 8, s, init, other, p);
                b[0] = s;
            }
        }
    }
    for (int i = 0; i < n && !cas; i++)
        b[i] = isa_in_type(e, t);
    if (cas)
        c = isa_in_type(e, t);
    for (int i = 0; i < n; i++)
        d[i] = isa_reg(e, bytes);
    ks_str_addf(e->o, "\t%s ", e->opcode);
    if (!red) {
        vector(e->o, d, n);
        ks_str_add(e->o, ", ");
    }
    ks_str_addf(e->o, "[%s], ", at);
    vector(e->o, b, n);
    ks_str_addf(e->o, "%s%s;\n", c ? ", " : "", c ? c : "");
    for (int i = 0; i < n; i++) {
        const char *left = isa_reg(e, bytes);
        if (!red)
            isa_out(e, d[i], bytes);
        if (bytes == 16)
            continue;
        ks_str_addf(e->o, "\tld%s.b%u %s, [%s + %u];\n", st, bytes * 8, left, at, (uint32_t)i * bytes);
        isa_out(e, left, bytes);
    }
    return true;
}

static bool emit_copy(struct isa_emitter *e)
{
    if (strncmp(e->opcode, "cp.async", 8) != 0)
        return false;
    if (strncmp(e->opcode, "cp.async.wait", 13) == 0 || strcmp(e->opcode, "cp.async.commit_group") == 0) {
        ks_str_addf(e->o, "\t%s%s;\n", e->opcode, isa_has(e, "wait_group") ? " 0" : "");
        isa_out(e, "t1", 4);
        return true;
    }
    if (!isa_has(e, "ca") && !isa_has(e, "cg"))
        return false;
    const char *at = place(e, "shared"), *p;
    policy(e, &p);
    for (int k = 0; k < 64; k += 8)
        ks_str_addf(e->o, "\tst.shared.b64 [%s + %d], -1;\n", at, k);
    e->io->n_in = 1;
    e->io->in[0] = (struct isa_operand){.kind = ISA_INT, .bytes = 16};
    ks_str_addf(e->o, "\t%s [%s], [in_at], 16%s%s;\n", e->opcode, at, p ? ", " : "", p ? p : "");
    const char *take = isa_reg(e, 4);
    ks_str_addf(e->o, "\tand.b32 %s, t1, 15;\n\t%s [%s + 16], [in_at], 16, %s%s%s;\n", take, e->opcode, at, take, p ? ", " : "",
                p ? p : "");
    if (isa_has(e, "ca"))
        ks_str_addf(e->o, "\t%s [%s + 32], [in_at], 4;\n\t%s [%s + 40], [in_at], 8;\n",
                    p ? "cp.async.ca.shared.global" : e->opcode, at, p ? "cp.async.ca.shared.global" : e->opcode, at);
    ks_str_add(e->o, "\tcp.async.commit_group;\n\tcp.async.wait_group 0;\n");
    for (int k = 0; k < 48; k += 8) {
        const char *r = isa_reg(e, 8);
        ks_str_addf(e->o, "\tld.shared.b64 %s, [%s + %d];\n", r, at, k);
        isa_out(e, r, 8);
    }
    return true;
}

static bool emit_matrix(struct isa_emitter *e)
{
    bool load = strcmp(e->mod[0], "ldmatrix") == 0, store = strcmp(e->mod[0], "stmatrix") == 0;
    const char *r[8];
    if (strcmp(e->mod[0], "movmatrix") == 0) {
        const char *d = isa_reg(e, 4), *a = isa_in(e, ISA_INT, 4);
        ks_str_addf(e->o, "\t%s %s, %s;\n", e->opcode, d, a);
        isa_out(e, d, 4);
        return true;
    }
    if (!load && !store)
        return false;
    int n = isa_has(e, "x4") ? 4 : isa_has(e, "x2") ? 2 : 1;
    if (isa_has(e, "m16n16"))
        n *= 2;
    const char *at = place(e, "shared"), *row = isa_reg(e, 4), *w = isa_reg(e, 4); /* rows of 16 bytes, 64 apart */
    ks_str_addf(e->o, "\tmov.u32 %s, %s;\n\tmov.u32 %s, 0;\n", row, at, w);
    if (load) {
        for (int k = 0; k < 2; k++)
            ks_str_addf(e->o, "\tst.shared.b64 [%s + %d], %s;\n", at, 8 * k, isa_in(e, ISA_INT, 8));
        for (int i = 0; i < n; i++)
            r[i] = isa_reg(e, 4);
        ks_str_addf(e->o, "\tbar.sync 0;\n\t%s {", e->opcode);
        for (int i = 0; i < n; i++)
            ks_str_addf(e->o, "%s%s", i ? ", " : "", r[i]);
        ks_str_addf(e->o, "}, [%s];\n", row);
        for (int i = 0; i < n; i++)
            isa_out(e, r[i], 4);
        return true;
    }
    for (int i = 0; i < n; i++)
        r[i] = isa_in(e, ISA_INT, 4);
    ks_str_addf(e->o, "\tst.shared.b64 [%s], -1;\n\tst.shared.b64 [%s + 8], -1;\n\tbar.sync 0;\n\t%s [%s], {", at, at, e->opcode,
                row);
    for (int i = 0; i < n; i++)
        ks_str_addf(e->o, "%s%s", i ? ", " : "", r[i]);
    ks_str_add(e->o, "};\n\tbar.sync 0;\n");
    for (int k = 0; k < 2; k++) {
        const char *back = isa_reg(e, 8);
        ks_str_addf(e->o, "\tld.shared.b64 %s, [%s + %d];\n", back, at, 8 * k);
        isa_out(e, back, 8);
    }
    return true;
}

/* Textures are decoded here only; tests/emulated/test_texture.c runs them. */
static bool emit_image(struct isa_emitter *e)
{
    static const struct {
        const char *geom, *coords[2]; /* by integer, by float */
    } geoms[] = {{"1d", {"{t1}", "{x0}"}},
                 {"2d", {"{t1, t2}", "{x0, x1}"}},
                 {"3d", {"{t1, t2, t0, t0}", "{x0, x1, x2, x2}"}},
                 {"a1d", {"{t1, t2}", "{t1, x0}"}},
                 {"a2d", {"{t1, t2, t0, t0}", "{t1, x0, x1, x1}"}},
                 {"cube", {NULL, "{x0, x1, x2, x2}"}},
                 {"acube", {NULL, "{t1, x0, x1, x2}"}}};
    bool tex = strcmp(e->mod[0], "tex") == 0 || strcmp(e->mod[0], "tld4") == 0, load = strcmp(e->mod[0], "suld") == 0,
         store = strcmp(e->mod[0], "sust") == 0;
    const char *at = NULL, *r[4];
    int n = tex ? 4 : vector_of(e);
    if (strcmp(e->mod[0], "txq") == 0 || strcmp(e->mod[0], "suq") == 0) {
        const char *d = isa_reg(e, 4);
        ks_str_addf(e->o, "\t%s %s, [mem_at];\n", e->opcode, d);
        isa_out(e, d, 4);
        return true;
    }
    if (!tex && !load && !store)
        return false;
    for (size_t i = 0; i < sizeof(geoms) / sizeof(*geoms); i++)
        if (isa_has(e, geoms[i].geom))
            at = geoms[i].coords[tex && strcmp(e->type[1], "f32") == 0];
    if (!at)
        return false;
    uint32_t bytes = isa_type_bytes(e->type[0]), lane = bytes < 2 ? 2 : bytes;
    ks_str_add(e->o, "\t.reg .f32 x0, x1, x2;\n\tmov.f32 x0, 0f3F000000;\n\tmov.f32 x1, x0;\n\tmov.f32 x2, x0;\n");
    for (int i = 0; i < n; i++)
        r[i] = store ? isa_in(e, ISA_INT, lane) : isa_reg(e, lane);
    ks_str_addf(e->o, "\t%s ", e->opcode);
    struct ks_str v = KS_STR_INIT;
    ks_str_add(&v, "{");
    for (int i = 0; i < n; i++)
        ks_str_addf(&v, "%s%s", i ? ", " : "", r[i]);
    ks_str_add(&v, "}");
    if (!store)
        ks_str_addf(e->o, "%s, ", ks_str_cstr(&v));
    ks_str_addf(e->o, "[mem_at, %s]%s%s%s;\n", at, isa_has(e, "level") ? ", x0" : "", store ? ", " : "",
                store ? ks_str_cstr(&v) : "");
    ks_str_release(&v);
    for (int i = 0; i < n && !store; i++)
        isa_out(e, r[i], lane);
    return true;
}

bool isa_emit_memory(struct isa_emitter *e)
{
    return emit_load(e) || emit_store(e) || emit_param(e) || emit_atomic(e) || emit_copy(e) || emit_matrix(e) || emit_image(e);
}
