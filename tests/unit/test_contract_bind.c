/* ks_contract_bind: each way in which a contract and its entry can disagree, and the message a user reads. */

#include "harness/contract.h"
#include "test.h"

#define PTR(n, spell, dt, is_const)                                                                                              \
    {                                                                                                                            \
        .name = n, .kind = KS_PARAM_POINTER, .spelling = spell, .pointee = dt, .pointee_known = true, .pointee_const = is_const  \
    }
#define NUM(n, spell, k)                                                                                                         \
    {                                                                                                                            \
        .name = n, .kind = k, .spelling = spell                                                                                  \
    }
#define STREAM                                                                                                                   \
    {                                                                                                                            \
        .name = "stream", .kind = KS_PARAM_STREAM, .spelling = "cudaStream_t"                                                    \
    }

static const char text[] = "// kscc: entry f\n"
                           "// kscc: dims n=1..3000000000 m=1..8\n"
                           "// kscc: in x : half[n]\n"
                           "// kscc: out y : float[n,8]\n"
                           "// kscc: arg scale = rsqrt(n)\n"
                           "// kscc: time n=1 m=2\n";

/* Binds and renders the diagnostics. */
static enum ks_code bind(const char *contract, const struct ks_param *params, size_t n_params, bool returns_void,
                         struct ks_str *out)
{
    struct ks_err err = {0};
    struct ks_arena arena;
    struct ks_diags diags;
    struct ks_contract *c = NULL;
    size_t n = 0;
    ks_arena_init(&arena);
    ks_diags_init(&diags);
    CHECK_OK(ks_contracts_parse("t.cu", contract, strlen(contract), &arena, &diags, &c, &n, &err));
    struct ks_signature sig = {
        .entry = "f", .symbol = "_Z1f", .params = params, .n_params = n_params, .returns_void = returns_void};
    enum ks_code code = ks_contract_bind(c, &sig, &diags, &err);
    for (size_t i = 0; i < diags.n; i++)
        ks_diag_render(&diags.data[i], contract, strlen(contract), false, out);
    CHECK_INT(code, ks_diags_count(&diags, KS_SEV_ERROR) ? KS_ERR_MISMATCH : KS_OK);
    ks_diags_release(&diags);
    ks_arena_release(&arena);
    return code;
}

static void expect(const struct ks_param *params, size_t n_params, const char *message)
{
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    enum ks_code code = bind(text, params, n_params, true, &out);
    if (message) {
        CHECK_INT(code, KS_ERR_MISMATCH);
        CHECK_CONTAINS(ks_str_cstr(&out), message);
    } else {
        CHECK_INT(code, KS_OK);
        CHECK_STR(ks_str_cstr(&out), "");
    }
}
#define EXPECT(params, message) expect(params, sizeof(params) / sizeof((params)[0]), message)

TEST(a_matching_signature_binds_without_a_word)
{
    const struct ks_param p[] = {PTR("x", "const half *", KS_DT_HALF, true), PTR("y", "float *", KS_DT_FLOAT, false),
                                 NUM("n", "long", KS_PARAM_I64), NUM("scale", "float", KS_PARAM_F32), STREAM};
    EXPECT(p, NULL);
    const struct ks_param no_dims[] = {PTR("x", "const half *", KS_DT_HALF, true), PTR("y", "float *", KS_DT_FLOAT, false),
                                       NUM("scale", "double", KS_PARAM_F64)};
    EXPECT(no_dims, NULL);
}

TEST(a_struct_pointer_binds_when_its_size_divides_the_record)
{
    struct ks_param p[] = {PTR("x", "const half *", KS_DT_HALF, true),
                           {.name = "y", .kind = KS_PARAM_POINTER, .spelling = "struct s *", .pointee_bytes = 32},
                           NUM("scale", "float", KS_PARAM_F32)};
    EXPECT(p, NULL);
    p[1].pointee_bytes = 24;
    EXPECT(p, "t.cu:4:14: error: 'y' is 'struct s *' with elements of 24 bytes; the last lengths of its array make 32 bytes");
    p[1].pointee_bytes = 0; /* void * */
    EXPECT(p, NULL);
}

TEST(each_disagreement_has_its_message)
{
    const struct ks_param x = PTR("x", "const half *", KS_DT_HALF, true), y = PTR("y", "float *", KS_DT_FLOAT, false),
                          scale = NUM("scale", "float", KS_PARAM_F32);
    struct ks_param p[] = {x, y, scale, STREAM};
    EXPECT(p, NULL);
    p[0] = (struct ks_param)PTR("x", "const float *", KS_DT_FLOAT, true);
    EXPECT(p, "t.cu:3:13: error: 'x' holds half in the contract, but its parameter is 'const float *'");
    p[0] = (struct ks_param)NUM("x", "int", KS_PARAM_I32);
    EXPECT(p, "'x' is 'int', no pointer; give a scalar its value with 'arg x = ...'");
    p[0] = (struct ks_param)PTR("q", "const half *", KS_DT_HALF, true);
    EXPECT(p, "t.cu:3:13: error: 'f' has no parameter 'x'; its parameters are q, y, scale");
    EXPECT(p, "t.cu:1:16: error: parameter 'q' ('const half *') of 'f' has no line; declare it with in, out, inout or scratch");
    p[0] = x;
    p[1] = (struct ks_param)PTR("y", "const float *", KS_DT_FLOAT, true);
    EXPECT(p, "t.cu:4:14: error: 'y' is an output, but its parameter is 'const float *': the entry cannot write it");
    p[1] = y;
    p[2] = (struct ks_param)PTR("scale", "float *", KS_DT_FLOAT, false);
    EXPECT(p, "t.cu:5:14: error: 'scale' is 'float *', a pointer; declare its array with in, out, inout or scratch");
    p[2] = (struct ks_param){.name = "scale", .kind = KS_PARAM_STREAM, .spelling = "cudaStream_t"};
    EXPECT(p, "'scale' is the stream, which needs no line");
    p[2] = (struct ks_param)NUM("alpha", "float", KS_PARAM_F32);
    EXPECT(p, "parameter 'alpha' ('float') of 'f' has no line; declare it with arg or as a dim");
    p[2] = scale;
    p[3] = (struct ks_param)NUM("n", "int", KS_PARAM_I32);
    EXPECT(p, "t.cu:2:15: error: 'n' reaches 3000000000, but its parameter 'int' holds at most 2147483647");
    p[3] = (struct ks_param)NUM("n", "unsigned", KS_PARAM_U32);
    EXPECT(p, NULL);
    p[3] = (struct ks_param){.name = "v", .kind = KS_PARAM_UNSUPPORTED, .spelling = "std::vector<int>"};
    EXPECT(p, "parameter 'v' has the type 'std::vector<int>'");
    p[3] = (struct ks_param)NUM("", "int", KS_PARAM_I32);
    EXPECT(p, "parameter 4 of 'f' has no name");
    const struct ks_param missing[] = {x, scale};
    EXPECT(missing, "'f' has no parameter 'y'");
}

TEST(an_input_without_const_is_noted_but_bound)
{
    const struct ks_param p[] = {PTR("x", "half *", KS_DT_HALF, false), PTR("y", "float *", KS_DT_FLOAT, false),
                                 NUM("scale", "float", KS_PARAM_F32)};
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    CHECK_INT(bind(text, p, 3, true, &out), KS_OK);
    CHECK_CONTAINS(ks_str_cstr(&out), "note: input 'x' is passed as 'half *' without const");
}

TEST(the_result_must_be_nothing_or_a_status)
{
    const struct ks_param p[] = {PTR("x", "const half *", KS_DT_HALF, true), PTR("y", "float *", KS_DT_FLOAT, false),
                                 NUM("scale", "float", KS_PARAM_F32)};
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    CHECK_INT(bind(text, p, 3, false, &out), KS_ERR_MISMATCH);
    CHECK_CONTAINS(ks_str_cstr(&out), "'f' returns neither void nor an error code");
}

TEST(integers_of_one_size_agree_whatever_their_sign)
{
    const char contract[] =
        "// kscc: entry f\n// kscc: dims n=1..8\n// kscc: in x : uint8[n]\n// kscc: out y : int32[n]\n// kscc: time n=2\n";
    const struct ks_param p[] = {PTR("x", "const char *", KS_DT_INT8, true), PTR("y", "unsigned *", KS_DT_UINT32, false)};
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    CHECK_INT(bind(contract, p, 2, true, &out), KS_OK);
    const struct ks_param q[] = {PTR("x", "const short *", KS_DT_INT16, true), PTR("y", "float *", KS_DT_FLOAT, false)};
    CHECK_INT(bind(contract, q, 2, true, &out), KS_ERR_MISMATCH);
}

/* The oracle's own parameters against the contract. */
static void oracle_expect(const struct ks_param *params, size_t n_params, const char *message)
{
    const char contract[] =
        "// kscc: entry f\n// kscc: dims n=1..8 m=1..8\n// kscc: in x : half[n]\n// kscc: scratch t : float[n]\n"
        "// kscc: out y : float[n]\n// kscc: out k : int32[n]\n// kscc: arg a = 1/n\n// kscc: time n=2 m=2\n"
        "// kscc: oracle g\n";
    struct ks_err err = {0};
    struct ks_arena arena;
    struct ks_diags diags;
    struct ks_contract *c = NULL;
    size_t n = 0;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_arena_init(&arena);
    ks_diags_init(&diags);
    CHECK_OK(ks_contracts_parse("t.cu", contract, strlen(contract), &arena, &diags, &c, &n, &err));
    struct ks_signature sig = {.entry = "g", .params = params, .n_params = n_params, .returns_void = true};
    CHECK_INT(ks_contract_bind_oracle(c, &sig, &diags, &err), message ? KS_ERR_MISMATCH : KS_OK);
    for (size_t i = 0; i < diags.n; i++)
        ks_diag_render(&diags.data[i], contract, strlen(contract), false, &out);
    if (message)
        CHECK_CONTAINS(ks_str_cstr(&out), message);
    else
        CHECK_STR(ks_str_cstr(&out), "");
    ks_diags_release(&diags);
    ks_arena_release(&arena);
}
#define ORACLE_EXPECT(params, message) oracle_expect(params, sizeof(params) / sizeof((params)[0]), message)

TEST(an_oracle_takes_what_the_contract_knows)
{
    const struct ks_param good[] = {PTR("x", "const double *", KS_DT_DOUBLE, true),
                                    PTR("y", "double *", KS_DT_DOUBLE, false),
                                    PTR("k", "int *", KS_DT_INT32, false),
                                    NUM("n", "int", KS_PARAM_I32),
                                    NUM("a", "double", KS_PARAM_F64),
                                    STREAM};
    ORACLE_EXPECT(good, NULL);
    const struct ks_param own_type[] = {PTR("x", "const half *", KS_DT_HALF, true), PTR("y", "float *", KS_DT_FLOAT, false)};
    ORACLE_EXPECT(own_type, NULL);
    const struct ks_param other_type[] = {PTR("x", "const float *", KS_DT_FLOAT, true),
                                          PTR("y", "double *", KS_DT_DOUBLE, false)};
    ORACLE_EXPECT(other_type, "t.cu:9:17: error: 'x' holds half in the contract, but the oracle takes 'const float *'");
    const struct ks_param unknown[] = {PTR("z", "double *", KS_DT_DOUBLE, false)};
    ORACLE_EXPECT(unknown, "parameter 'z' ('double *') of the oracle 'g' is no array of the contract");
    const struct ks_param scratch[] = {PTR("t", "float *", KS_DT_FLOAT, false), PTR("y", "double *", KS_DT_DOUBLE, false)};
    ORACLE_EXPECT(scratch, "'t' ('float *') of the oracle 'g' is scratch");
    const struct ks_param number[] = {PTR("y", "double *", KS_DT_DOUBLE, false), NUM("q", "int", KS_PARAM_I32)};
    ORACLE_EXPECT(number, "parameter 'q' ('int') of the oracle 'g' is neither a dim nor an arg");
    const struct ks_param nothing[] = {PTR("y", "const double *", KS_DT_DOUBLE, true), PTR("k", "int *", KS_DT_INT32, false)};
    ORACLE_EXPECT(nothing, "the oracle 'g' writes no floating-point output");
}

TEST_MAIN
