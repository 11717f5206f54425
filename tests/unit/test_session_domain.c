/* What a contract says of its arrays beyond their lengths, end to end on the emulated device: rows with a gap behind them that
 * nobody writes (used=), and inputs that hold NaN and infinities (nonfinite). */
#include "tests/unit/session_fixture.h"

#define CONTRACT(x_options, y_options)                                                                                           \
    "// kscc: entry relu\n"                                                                                                      \
    "// kscc: dims  rows=1..100 cols=1..100 ld=1..140\n"                                                                         \
    "// kscc: in    x : float[rows,ld] " x_options "\n"                                                                          \
    "// kscc: out   y : float[rows,ld] rtol=1e-5 atol=1e-6 " y_options "\n"                                                      \
    "// kscc: time  rows=100 cols=90 ld=128\n"                                                                                   \
    "#include <cuda_runtime.h>\n"
#define KERNEL(body)                                                                                                             \
    "__global__ void k(const float *x, float *y, int rows, int cols, int ld)\n{\n"                                               \
    "    int r = blockIdx.x;\n    for (int c = threadIdx.x; c < ld; c += 32) {\n        int i = r * ld + c;\n" body "    }\n}\n" \
    "void relu(const float *x, float *y, int rows, int cols, int ld) { k<<<rows, 32>>>(x, y, rows, cols, ld); }\n"
#define GAPS  "used=cols"
#define RIGHT "        if (c < cols)\n            y[i] = 2 * x[i] > 0 ? 2 * x[i] : 0;\n" /* NaN gives 0 */

static const struct ks_param params[] = {
    FIXTURE_POINTER("x", "const float *", true),
    FIXTURE_POINTER("y", "float *", false),
    {.name = "rows", .kind = KS_PARAM_I32, .spelling = "int"},
    {.name = "cols", .kind = KS_PARAM_I32, .spelling = "int"},
    {.name = "ld", .kind = KS_PARAM_I32, .spelling = "int"},
};
static struct ks_signature signature = {
    .entry = "relu", .symbol = "_Z4reluPKfPfiii", .params = params, .n_params = 5, .returns_void = true};

static enum ks_code open_session(struct fixture *f, const char *text, struct ks_err *err)
{
    static const uint8_t secret[32] = "rows";
    return fixture_open(f, text, (struct ks_session_options){.unit_path = "relu.cu", .signature = &signature, .secret = secret},
                        err);
}

/* The gate must fail with `part` in its reason; part == "": the gates pass that look at answers. */
static void judge(struct fixture *f, const char *candidate, enum ks_gate gate, const char *part)
{
    struct ks_err err = {0};
    struct ks_verdict v;
    CHECK_OK(ks_session_try(f->session, candidate, strlen(candidate), &v, &err));
    if (*part) {
        CHECK_INT(v.gates[gate].state, KS_GATE_FAIL);
        CHECK_CONTAINS(v.gates[gate].reason ? v.gates[gate].reason : "", part);
    } else {
        CHECK_INT(v.gates[KS_GATE_NUMERICS].state, KS_GATE_PASS);
        CHECK_INT(v.gates[KS_GATE_SAFETY].state, KS_GATE_PASS);
    }
    ks_verdict_release(&v);
}

TEST(what_lies_between_rows_is_nobodys)
{
    struct fixture f;
    struct ks_err err = {0};
    CHECK_OK(open_session(&f, CONTRACT(GAPS, GAPS) KERNEL(RIGHT), &err));
    if (f.session) {
        judge(&f, CONTRACT(GAPS, GAPS) KERNEL("        if (c < cols)\n            y[i] = fmaxf(2 * x[i], 0);\n"),
              KS_GATE_NUMERICS, "");
        judge(&f, CONTRACT(GAPS, GAPS) KERNEL("        y[i] = fmaxf(2 * x[i], 0);\n"), KS_GATE_SAFETY,
              "writes between the rows of 'y'");
        judge(&f, CONTRACT(GAPS, GAPS) KERNEL("        y[i] = c < cols ? fmaxf(2 * x[i], 0) : __int_as_float(0x7fc00000);\n"),
              KS_GATE_SAFETY, "writes between the rows of 'y'"); /* NaN for NaN */
        judge(&f, CONTRACT(GAPS, GAPS) KERNEL("        if (c < cols - 1 || c == 0)\n            y[i] = fmaxf(2 * x[i], 0);\n"),
              KS_GATE_NUMERICS, "'y'["); /* the last one that is used */
    }
    close_session(&f);
    CHECK_INT(open_session(&f, CONTRACT(GAPS, GAPS) KERNEL("        y[i] = fmaxf(2 * x[i], 0);\n"), &err), KS_ERR_MISMATCH);
    CHECK_CONTAINS(err.message, "the original breaks its contract");
    CHECK_CONTAINS(err.message, "writes between the rows of 'y'");
    close_session(&f);
    CHECK_INT(open_session(&f, CONTRACT("", "") KERNEL(RIGHT), &err), KS_ERR_MISMATCH); /* without used=, all of it is output */
    CHECK_CONTAINS(err.message, "does not write all of its output");
    close_session(&f);
}

TEST(nan_and_infinities_are_tried_where_the_contract_says_so)
{
    static const char other[] = CONTRACT(GAPS, GAPS)
        KERNEL("        if (c < cols)\n            y[i] = 2 * x[i] < 0 ? 0 : 2 * x[i];\n"); /* NaN stays NaN */
    struct fixture f;
    struct ks_err err = {0};
    CHECK_OK(open_session(&f, CONTRACT(GAPS, GAPS) KERNEL(RIGHT), &err));
    if (f.session)
        judge(&f, other, KS_GATE_NUMERICS, "");
    close_session(&f);
    CHECK_OK(open_session(&f, CONTRACT("nonfinite " GAPS, GAPS) KERNEL(RIGHT), &err));
    if (f.session) {
        judge(&f, other, KS_GATE_NUMERICS, "NaN and infinities");
        judge(&f, CONTRACT(GAPS, GAPS) KERNEL("        if (c < cols)\n            y[i] = fmaxf(2 * x[i], 0);\n"),
              KS_GATE_NUMERICS, "");
    }
    close_session(&f);
}

TEST_MAIN
