/* Constants in what was built, and the sizes that follow from them. */
#include "harness/literals.h"

#include "harness/build.h"
#include "base/file.h"
#include "tests/unit/test.h"

static bool has(const struct ks_constants *c, int64_t v)
{
    return ks_constants_near(c, v);
}

static bool has_far(const struct ks_constants *c, int64_t v)
{
    for (size_t i = 0; i < c->far.n; i++)
        if (c->far.data[i] == v)
            return true;
    return false;
}

TEST(ptx_tells_its_operands_and_tables)
{
    struct ks_constants c = {{NULL, 0, 0}, {NULL, 0, 0}};
    ks_constants_ptx(".version 9.0\n"
                     ".const .align 4 .b8 odd[8] = {245, 38, 0, 0, 115, 73};\n"
                     ".global .align 4 .u32 words[2] = {60013, 0x1234};\n"
                     ".visible .entry k(.param .u32 k_param_0)\n{\n"
                     "\t.reg .b32 \t%r<4711>;\n"
                     "\t.loc\t1 9999 3\n"
                     "\tld.param.u32 \t%r1, [k_param_0+8]; // 5555\n"
                     "\tsetp.eq.s32 \t%p1, %r1, 31337;\n"
                     "\tadd.s32 \t%r2, %r1, -50001;\n"
                     "\tmov.b64 \t%rd1, 0x100007A69;\n"
                     "\tmul.f32 \t%f1, %f2, 0f46D42F00;\n"
                     "\tst.global.f32 \t[%rd4+77776], %f1;\n"
                     "$L__BB0_2222:\n\tret;\n}\n",
                     &c);
    ks_constants_settle(&c);
    CHECK(has(&c, 9973)); /* 245 + 38 * 256 */
    CHECK(has(&c, 18803));
    CHECK(has(&c, 60013));
    CHECK(has(&c, 0x1234));
    CHECK(has(&c, 31337));
    CHECK(has(&c, -50001));
    CHECK(has(&c, 0x100007a69) && has(&c, 0x7a69) && has(&c, 1));
    CHECK(has(&c, 27159)); /* below 27159.5 */
    CHECK(has_far(&c, 77776) && !has(&c, 77776));
    CHECK(!has(&c, 4711) && !has(&c, 9999) && !has(&c, 5555) && !has(&c, 2222));
    ks_constants_release(&c);
}

TEST(host_code_tells_what_the_compiler_made_of_constants)
{
    static char *argv[] = {KSCC_CUDA_ROOT "/bin/nvcc", "-O2", "-std=c++14", "-c", "unit.cu", NULL};
    static const char text[] = "#include <cuda_runtime.h>\n"
                               "static const unsigned short odd[3] = {33333, 44449, 55555};\n"
                               "__global__ void k(float *y) { y[0] = 1; }\n"
                               "void go(float *y, int n, long m)\n{\n"
                               "    if (n == 251 * 163)\n        y++;\n"
                               "    if (n / 3 == 10445)\n        y += 2;\n"
                               "    if (m * (long)sizeof(double) == 0x98967f00)\n        y += 3;\n"
                               "    if (n * 0.25 == 4711.25)\n        y += 4;\n"
                               "    for (int i = 0; i < 3; i++)\n        y += n == odd[i];\n"
                               "    k<<<1, 32>>>(y);\n}\n";
    struct ks_err err;
    char *work = NULL;
    struct ks_built *b = NULL;
    CHECK_OK(ks_dir_make_temp("kscc-test", &work, &err));
    struct ks_session_options o = {
        .unit_path = "unit.cu", .nvcc_argv = argv, .input_index = 4, .arch = "sm_90a", .work_dir = work};
    CHECK_OK(ks_build_object(&o, text, strlen(text), "one", 120000, &b, NULL, &err));
    if (b) {
        struct ks_constants c;
        ks_constants_read(&b->object, &c);
        CHECK(has(&c, 40913) || has(&c, -40913));
        CHECK(has(&c, 31335) || has(&c, -31335));
        CHECK(has(&c, 0x98967f00) || has(&c, 0x98967f00 / 8) || has(&c, 0x98967f00 - (1ll << 32)));
        CHECK(has(&c, 4711));
        CHECK(has(&c, 33333) || has_far(&c, 33333)); /* compared one by one, or a table of halves */
        CHECK(has(&c, 44449) || has_far(&c, 44449));
        CHECK(!has(&c, 12345) && !has_far(&c, 12345));
        ks_constants_release(&c);
    }
    ks_built_free(b);
    CHECK_OK(ks_dir_remove(work, &err));
    free(work);
}

struct fixture {
    struct ks_arena arena;
    struct ks_diags diags;
    struct ks_contract *c;
    struct ks_constants candidate, original;
};

static void fixture_open(struct fixture *f, const char *dims, const char *time, const int64_t *near, size_t n)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_err err;
    size_t n_contracts;
    memset(f, 0, sizeof *f);
    ks_arena_init(&f->arena);
    ks_diags_init(&f->diags);
    ks_str_addf(&text,
                "// kscc: entry f\n// kscc: dims %s\n// kscc: in x : float[n]\n// kscc: out y : float[n]\n// kscc: time %s\n",
                dims, time);
    CHECK_OK(ks_contracts_parse("f.cu", text.data, text.len, &f->arena, &f->diags, &f->c, &n_contracts, &err));
    for (size_t i = 0; i < n; i++)
        ks_vec_push(&f->candidate.near, near[i]);
    ks_vec_push(&f->candidate.near, 128);
    ks_vec_push(&f->original.near, 128);
    ks_constants_settle(&f->candidate);
    ks_constants_settle(&f->original);
}

static void fixture_close(struct fixture *f)
{
    ks_constants_release(&f->candidate);
    ks_constants_release(&f->original);
    ks_diags_release(&f->diags);
    ks_arena_release(&f->arena);
}

static bool tries(const struct ks_literals *l, int64_t v)
{
    for (size_t i = 0; i < l->items.n; i++)
        for (size_t k = 0; k < l->items.data[i].n_dims; k++)
            if (l->items.data[i].value[k] == v)
                return true;
    return false;
}

static const uint8_t key_a[32] = "one key", key_b[32] = "another key";

TEST(named_sizes_their_neighbours_and_the_edges_are_tried_first)
{
    struct fixture f;
    struct ks_literals l;
    fixture_open(&f, "n=1..65536", "n=64", (int64_t[]){31337, -50001, 1 << 20}, 3);
    ks_literals_make(f.c, &f.candidate, &f.original, key_a, 24, &l);
    static const int64_t wanted[] = {31336, 31337, 31338, 50000, 50001, 50002, 1, 2, 65535, 65536};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        CHECK(tries(&l, wanted[i]));
    CHECK_INT(l.n_of[KS_LITERAL_NAMED], 2);
    CHECK_INT(l.n_named_left, 0);
    CHECK_INT(l.items.n, 24);
    ks_literals_release(&l);
    fixture_close(&f);
}

TEST(sizes_are_made_of_scales_and_of_pairs)
{
    struct fixture f;
    struct ks_literals l;
    /* 4 n = 77776, n n = 39024 39024, n = 211 * 197, n ^ 99999 = 65536 + 40000 */
    fixture_open(&f, "n=1..100000", "n=64", (int64_t[]){77776, 1522872576, 211, 197, 99999, 105536}, 6);
    ks_literals_make(f.c, &f.candidate, &f.original, key_a, 100000, &l);
    CHECK(tries(&l, 19444));
    CHECK(tries(&l, 39024));
    CHECK(tries(&l, 211 * 197));
    CHECK(tries(&l, 99999 ^ 105536));
    ks_literals_release(&l);
    fixture_close(&f);
}

TEST(two_dims_are_named_together_and_by_their_product)
{
    struct fixture f;
    struct ks_literals l;
    bool pair = false, product = false;
    fixture_open(&f, "n=1..65536 m=1..4", "n=64 m=2", (int64_t[]){20011, 3, 150006}, 3);
    ks_literals_make(f.c, &f.candidate, &f.original, key_a, 1000, &l);
    for (size_t i = 0; i < l.items.n; i++) {
        const struct ks_literal *x = &l.items.data[i];
        struct ks_shape s;
        if (x->n_dims != 2)
            continue;
        pair |= x->value[0] == 20011 && x->value[1] == 3;
        product |= (x->value[0] == 50002 && x->value[1] == 3) || (x->value[0] == 3 && x->value[1] == 50002);
        CHECK(ks_literal_shape(f.c, x, key_a, i, false, 1 << 10, 1 << 20, &s)); /* beyond the first limit: others smallest */
        CHECK_INT(s.dim[x->dim[0]], x->value[0]);
        CHECK_INT(s.dim[x->dim[1]], x->value[1]);
    }
    CHECK(pair);
    CHECK(product);
    ks_literals_release(&l);
    fixture_close(&f);
}

TEST(domains_of_multiples_and_choices_are_kept)
{
    struct fixture f;
    struct ks_literals l;
    fixture_open(&f, "n=8..4096%8 d=64|128", "n=64 d=64", (int64_t[]){1001, 100, 64}, 3);
    ks_literals_make(f.c, &f.candidate, &f.original, key_a, 1000, &l);
    for (size_t i = 0; i < l.items.n; i++)
        for (size_t k = 0; k < l.items.data[i].n_dims; k++)
            CHECK(ks_contract_dim_allows(f.c, l.items.data[i].dim[k], l.items.data[i].value[k]));
    CHECK(tries(&l, 1000) && tries(&l, 1008) && tries(&l, 4096) && tries(&l, 4088)); /* on either side of 1001 */
    ks_literals_release(&l);
    fixture_close(&f);
}

TEST(what_is_too_many_is_drawn_and_counted)
{
    struct fixture f;
    struct ks_literals a, b, again;
    int64_t many[600];
    for (size_t i = 0; i < 600; i++)
        many[i] = 1000 + (int64_t)i * 97;
    fixture_open(&f, "n=1..65536", "n=64", many, 600);
    ks_literals_make(f.c, &f.candidate, &f.original, key_a, 100, &a);
    ks_literals_make(f.c, &f.candidate, &f.original, key_a, 100, &again);
    ks_literals_make(f.c, &f.candidate, &f.original, key_b, 100, &b);
    size_t named = 0, same = 0;
    for (size_t i = 0; i < 100; i++) {
        named += a.items.data[i].kind == KS_LITERAL_NAMED;
        same += a.items.data[i].value[0] == b.items.data[i].value[0];
        CHECK_INT(a.items.data[i].value[0], again.items.data[i].value[0]);
    }
    CHECK(named >= 50);
    CHECK(same < 10);
    CHECK_INT(a.n_named_left + named, a.n_of[KS_LITERAL_NAMED]);
    ks_literals_release(&a);
    ks_literals_release(&b);
    ks_literals_release(&again);
    fixture_close(&f);
}

TEST_MAIN
