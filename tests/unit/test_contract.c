/* Shapes and expressions of contracts: values, domains, sizes. */

#include "harness/contract.h"
#include "test.h"

static struct ks_arena arena;

/* The one contract of the text. */
static const struct ks_contract *parse(const char *text)
{
    struct ks_err err = {0};
    struct ks_diags diags;
    struct ks_contract *c = NULL;
    size_t n = 0;
    ks_diags_init(&diags);
    CHECK_OK(ks_contracts_parse("t.cu", text, strlen(text), &arena, &diags, &c, &n, &err));
    CHECK_INT(n, 1);
    for (size_t i = 0; i < diags.n; i++)
        printf("%s\n", diags.data[i].message);
    ks_diags_release(&diags);
    return n ? c : NULL;
}

/* Value of an integer expression over a=7, b=3 by way of a buffer length; -1: range error. */
static int64_t length(const char *expression)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_addf(
        &text,
        "// kscc: entry f\n// kscc: dims a=0..9000000000000 b=0..100\n// kscc: out o : float[1]\n// kscc: scratch s : int8[%s]\n"
        "// kscc: time a=7 b=3\n",
        expression);
    struct ks_err err = {0};
    struct ks_diags diags;
    struct ks_contract *c = NULL;
    size_t n = 0;
    ks_diags_init(&diags);
    enum ks_code code = ks_contracts_parse("t.cu", text.data, text.len, &arena, &diags, &c, &n, &err);
    int64_t v = -1;
    CHECK_INT(code, n ? KS_OK : KS_ERR_SYNTAX);
    if (n)
        CHECK_OK(ks_contract_elems(c, &c->buffers[1], &c->times[0].shape, &v, &err));
    ks_diags_release(&diags);
    return v;
}

TEST(lengths_are_computed_in_integers)
{
    ks_arena_init(&arena);
    CHECK_INT(length("a+b*2"), 13);
    CHECK_INT(length("(a+b)*2"), 20);
    CHECK_INT(length("a-b-2"), 2);
    CHECK_INT(length("a/b"), 2);
    CHECK_INT(length("a%b"), 1);
    CHECK_INT(length("a/2*2"), 6);
    CHECK_INT(length("ceildiv(a,b)"), 3);
    CHECK_INT(length("ceildiv(a-1,b)"), 2);
    CHECK_INT(length("log2(a+1)"), 3);
    CHECK_INT(length("log2(a)"), 2);
    CHECK_INT(length("min(a,b)"), 3);
    CHECK_INT(length("max(a,b)"), 7);
    CHECK_INT(length("--a"), 7);
    CHECK_INT(length("10+-a"), 3);
    ks_arena_release(&arena);
}

TEST(a_mark_of_the_encoding_before_the_first_line_is_no_text)
{
    struct ks_err err = {0};
    struct ks_diags diags;
    struct ks_contract *c = NULL;
    size_t n = 0;
    static const char text[] =
        "\xef\xbb\xbf// kscc: entry f\n// kscc: dims  n=1..8\n// kscc: out   y : float[n]\n// kscc: time  n=8\n";
    ks_diags_init(&diags);
    CHECK_OK(ks_contracts_parse("t.cu", text, strlen(text), &arena, &diags, &c, &n, &err));
    CHECK_INT(n, 1);
    CHECK_INT(diags.n, 0);
    ks_diags_release(&diags);
}

TEST(lengths_without_a_value_are_refused)
{
    ks_arena_init(&arena);
    CHECK_INT(length("a/(b-3)"), -1);
    CHECK_INT(length("a%(b-3)"), -1);
    CHECK_INT(length("b-a"), -1);
    CHECK_INT(length("log2(b-3)"), -1);
    CHECK_INT(length("ceildiv(a,b-3)"), -1);
    CHECK_INT(length("9223372036854775807*a"), -1);
    CHECK_INT(length("9223372036854775807+a"), -1);
    CHECK_INT(length("(0-9223372036854775807-1)/(2-b)"), -1);
    CHECK_INT(length("(0-9223372036854775807-1)%(2-b)"), 0);
    ks_arena_release(&arena);
}

TEST(scalars_are_computed_in_double)
{
    ks_arena_init(&arena);
    struct ks_err err = {0};
    const struct ks_contract *c =
        parse("// kscc: entry f\n// kscc: dims D=1..128 z=0..1\n// kscc: out o : float[D]\n"
              "// kscc: arg a = rsqrt(D)\n// kscc: arg b = 1/D\n// kscc: arg c = 1e-5\n// kscc: arg d = 2.5e2 % 7\n"
              "// kscc: arg e = exp(-1) + log2(D) - sqrt(D) * ceildiv(D, 3)\n// kscc: arg f = 1/z\n"
              "// kscc: time D=64 z=0\n");
    const double expected[] = {0.125, 1.0 / 64, 1e-5, 5.0, exp(-1.0) + 6 - 8 * 22.0};
    double v;
    for (size_t i = 0; i < 5; i++) {
        CHECK_OK(ks_expr_eval(c->args[i].value, c, &c->times[0].shape, &v, &err));
        CHECK_NEAR(v, expected[i], 1e-15 * 200);
    }
    CHECK_INT(ks_expr_eval(c->args[5].value, c, &c->times[0].shape, &v, &err), KS_ERR_RANGE);
    CHECK_CONTAINS(err.message, "'1/z'");
    ks_arena_release(&arena);
}

TEST(completing_a_shape_derives_dims_and_checks_the_domain)
{
    ks_arena_init(&arena);
    struct ks_err err = {0};
    const struct ks_contract *c =
        parse("// kscc: entry f\n// kscc: dims S=16..64%16 D=64|128 H=D/2 G=H-S\n// kscc: out o : float[S,H]\n"
              "// kscc: time S=16 D=64\n");
    struct ks_shape s = {{48, 128, -5, -5}};
    CHECK(!ks_contract_covers(c, &s)); /* derived dims do not follow */
    CHECK_OK(ks_contract_complete(c, &s, &err));
    CHECK_INT(s.dim[2], 64);
    CHECK_INT(s.dim[3], 16);
    CHECK(ks_contract_covers(c, &s));
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_shape_print(c, &s, &text);
    CHECK_STR(text.data, "S=48 D=128");
    ks_str_clear(&text);
    ks_shape_print(&(struct ks_contract){0}, &s, &text); /* as recordings have */
    CHECK_STR(text.data, "its one size");
    struct ks_shape bad[] = {{{49, 128}}, {{0, 128}}, {{80, 128}}, {{48, 96}}, {{48, 64}}};
    const char *named[] = {"'S' is 49", "'S' is 0", "'S' is 80", "'D' is 96, expected 64|128", "'G' is -16"};
    for (size_t i = 0; i < 5; i++) {
        struct ks_shape before = bad[i];
        CHECK_INT(ks_contract_complete(c, &bad[i], &err), KS_ERR_RANGE);
        CHECK_CONTAINS(err.message, named[i]);
        CHECK(memcmp(&before, &bad[i], sizeof before) == 0);
        CHECK(!ks_contract_covers(c, &bad[i]));
    }
    ks_arena_release(&arena);
}

TEST(a_shape_whose_buffers_are_impossible_is_not_covered)
{
    ks_arena_init(&arena);
    struct ks_err err = {0};
    const struct ks_contract *c = parse(
        "// kscc: entry f\n// kscc: dims n=1..9007199254740992\n// kscc: out o : double[n,n]\n// kscc: scratch e : float[n-1]\n"
        "// kscc: time n=2\n");
    struct ks_shape fine = {{1000}}, huge = {{1000000}}, overflow = {{9007199254740992}}, empty = {{1}};
    int64_t n;
    CHECK(ks_contract_covers(c, &fine));
    CHECK(ks_contract_covers(c, &empty));
    CHECK_OK(ks_contract_elems(c, &c->buffers[1], &empty, &n, &err));
    CHECK_INT(n, 0);
    CHECK(!ks_contract_covers(c, &huge));
    CHECK(!ks_contract_covers(c, &overflow));
    CHECK_INT(ks_contract_elems(c, &c->buffers[0], &overflow, &n, &err), KS_ERR_RANGE);
    CHECK_CONTAINS(err.message, "does not fit 64 bits");
    CHECK_OK(ks_contract_bytes(c, &fine, &n, &err));
    CHECK_INT(n, 8 * 1000 * 1000 + 4 * 999);
    ks_arena_release(&arena);
}

/* How many complaints a contract with this input and these dims gets. */
#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
static size_t complaints(const char *dims, const char *options, struct ks_contract **ret, size_t *ret_n)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_diags diags;
    struct ks_err err = {0};
    ks_diags_init(&diags);
    ks_str_addf(&text, "// kscc: entry f\n// kscc: dims n=%s\n// kscc: out o : float[n]\n// kscc: in i : int32[n] ", dims);
    ks_str_addf(&text, "%s\n// kscc: time n=8\n", options);
    enum ks_code code = ks_contracts_parse("t.cu", text.data, text.len, &arena, &diags, ret, ret_n, &err);
    size_t n = diags.n;
    CHECK_INT(code, n ? KS_ERR_SYNTAX : KS_OK);
    ks_diags_release(&diags);
    return n;
}

TEST(recorded_contents_are_of_one_size_and_survive_json)
{
    struct ks_contract *c = NULL, *again = NULL;
    struct ks_diags diags;
    struct ks_err err = {0};
    size_t n = 0;
    CHECK_INT(complaints("8", "recorded=" HASH "+32", &c, &n), 0);
    CHECK(n == 1 && c->buffers[1].kept && c->buffers[1].recorded_off_byte == 32);
    CHECK_INT(strlen(c->buffers[1].recorded), 64);
    struct ks_json *j = ks_contract_to_json(c);
    ks_diags_init(&diags);
    CHECK_OK(ks_contracts_parse_json("t.json", j, &arena, &diags, &again, &n, &err));
    CHECK(n == 1 && again->buffers[1].kept && again->buffers[1].recorded_off_byte == 32);
    CHECK_STR(again->buffers[1].recorded, c->buffers[1].recorded);
    ks_diags_release(&diags);
    ks_json_free(j);
    CHECK_INT(complaints("8", "~ int(0,3) recorded=" HASH, &c, &n), 0);
    CHECK(!c->buffers[1].kept && c->buffers[1].recorded_off_byte == 0);
    CHECK_INT(complaints("1..8", "recorded=" HASH, &c, &n), 1);
    CHECK_INT(complaints("8", "recorded=0011", &c, &n), 1);
    CHECK_INT(complaints("8", "recorded=" HASH " recorded=1", &c, &n), 1);
    CHECK_INT(complaints("8", "recorded=" HASH "+x", &c, &n), 1);
    ks_arena_release(&arena);
}

TEST(every_element_type_has_its_size)
{
    CHECK_STR(ks_dtype_text(KS_DT_BF16), "bf16");
    CHECK_INT(ks_dtype_size(KS_DT_UINT16), 2);
    CHECK_INT(ks_dtype_size(KS_DT_INT64), 8);
    CHECK(ks_dtype_is_float(KS_DT_DOUBLE) && !ks_dtype_is_float(KS_DT_UINT8));
}

TEST_MAIN
