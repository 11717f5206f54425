#include "base/file.h"
#include "base/process.h"
#include "driver/emit.h"
#include "tests/unit/test.h"

static const struct ks_param params[] = {
    {.name = "x",
     .kind = KS_PARAM_POINTER,
     .spelling = "const float *",
     .pointee = KS_DT_FLOAT,
     .pointee_known = true,
     .pointee_const = true},
    {.name = "y", .kind = KS_PARAM_POINTER, .spelling = "float *", .pointee = KS_DT_FLOAT, .pointee_known = true},
    {.name = "rows", .kind = KS_PARAM_I32, .spelling = "int"},
    {.name = "cols", .kind = KS_PARAM_I64, .spelling = "long"},
    {.name = "scale", .kind = KS_PARAM_F32, .spelling = "float"},
    {.name = "stream", .kind = KS_PARAM_STREAM, .spelling = "cudaStream_t"}};
static const struct ks_signature signature = {
    .entry = "entry", .symbol = "entry", .params = params, .n_params = sizeof(params) / sizeof(params[0]), .returns_int = true};

static const char contract_text[] =
    "{\"entry\": \"entry\","
    " \"dims\": [{\"name\": \"rows\", \"lo\": 1, \"hi\": 100, \"multiple\": 2}, {\"name\": \"cols\", \"choices\": [64, 128]},"
    "            {\"name\": \"half\", \"derived\": \"rows / 2\"}],"
    " \"buffers\": [{\"name\": \"x\", \"direction\": \"in\", \"dtype\": \"float\", \"shape\": [\"rows\", \"cols\"], \"align\": "
    "16},"
    "               {\"name\": \"y\", \"direction\": \"out\", \"dtype\": \"float\", \"shape\": [\"half * 2\", \"cols\"], "
    "\"align\": 16}],"
    " \"args\": [{\"name\": \"scale\", \"value\": \"rsqrt(cols) * 3 / 2\"}]}";

/* Calls the dispatcher with a table of arguments and prints which side was called. */
static const char harness_text[] =
    "#include <stdio.h>\n#include <math.h>\n"
    "int orig(const float *x, float *y, int rows, long cols, float scale, void *s) __asm__(\"original_symbol\");\n"
    "int cand(const float *x, float *y, int rows, long cols, float scale, void *s) __asm__(\"candidate_symbol\");\n"
    "int entry(const float *x, float *y, int rows, long cols, float scale, void *s);\n"
    "int orig(const float *x, float *y, int rows, long cols, float scale, void *s) { return putchar('o'), (void)x, (void)y, "
    "(void)cols, (void)scale, (void)s, rows; }\n"
    "int cand(const float *x, float *y, int rows, long cols, float scale, void *s) { return putchar('C'), (void)x, (void)y, "
    "(void)cols, (void)scale, (void)s, rows; }\n"
    "static int device, capability[2][2] = {{9, 0}, {8, 9}};\n"
    "int cudaGetDevice(int *d) { *d = device; return 0; }\n"
    "int cudaDeviceGetAttribute(int *v, int a, int d) { *v = capability[d][a - 75]; return 0; }\n"
    "static float buf[1 << 16] __attribute__((aligned(256)));\n"
    "int main(void) {\n"
    "  float *x = buf, *y = buf + (1 << 15), s = 1.5f / sqrtf(64.0f);\n"
    "  int n = entry(x, y, 4, 64, s, 0) + entry(x, y, 100, 128, 1.5f / sqrtf(128.0f), 0);\n"                         /* inside */
    "  entry(x, y, 3, 64, s, 0); entry(x, y, 102, 64, s, 0); entry(x, y, 0, 64, s, 0); entry(x, y, -2, 64, s, 0);\n" /* rows */
    "  entry(x, y, 4, 65, s, 0); entry(x, y, 4, (1L << 32) + 64, s, 0);\n"                                           /* cols */
    "  entry(x, y, 4, 64, s * 1.01f, 0); entry(x, y, 4, 64, NAN, 0);\n"                                              /* scale */
    "  entry(x + 1, y, 4, 64, s, 0); entry(0, y, 4, 64, s, 0);\n"                     /* alignment, null */
    "  entry(x, x, 4, 64, s, 0); entry(x, x + 64, 4, 64, s, 0);\n"                    /* overlap */
    "  entry(x, x + 256, 4, 64, s, 0);\n"                                             /* touching is not overlapping */
    "  device = 1; entry(x, y, 4, 64, s, 0); device = 0; entry(x, y, 4, 64, s, 0);\n" /* another architecture, and back */
    "  printf(\" %d\\n\", n);\n  return 0;\n}\n";

static struct ks_json *contract(void)
{
    struct ks_err err = {0};
    struct ks_json *j = NULL;
    CHECK_OK(ks_json_parse(contract_text, strlen(contract_text), "contract", &j, &err));
    return j;
}

TEST(the_dispatcher_takes_the_candidate_only_inside_the_proved_domain)
{
    struct ks_err err = {0};
    KS_AUTO_JSON struct ks_json *j = contract();
    KS_AUTO_FREE char *dir = NULL;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, a = KS_STR_INIT, b = KS_STR_INIT, exe = KS_STR_INIT, out = KS_STR_INIT;
    CHECK_OK(ks_emit_dispatcher(&signature, j, "original_symbol", "candidate_symbol", "sm_90a", "default", &text, &err));
    CHECK_OK(ks_dir_make_temp("test-emit", &dir, &err));
    ks_path_join(&a, dir, "dispatch.c");
    ks_path_join(&b, dir, "main.c");
    ks_path_join(&exe, dir, "program");
    CHECK_OK(ks_file_write_atomic(a.data, text.data, text.len, 0644, &err));
    CHECK_OK(ks_file_write_atomic(b.data, harness_text, strlen(harness_text), 0644, &err));
    char *const cc[] = {"gcc",  "-O1",  "-fwrapv", "-Wall",  "-Werror", "-Wno-unused-function",
                        a.data, b.data, "-o",      exe.data, "-lm",     NULL};
    CHECK_OK(ks_tool_run(cc, NULL, &err));
    char *const run[] = {exe.data, NULL};
    CHECK_OK(ks_tool_run(run, &out, &err));
    CHECK_STR(ks_str_cstr(&out), "CCooooooooooooCoC 104\n");
    CHECK_OK(ks_dir_remove(dir, &err));
}

/* Compiles the dispatcher with `main` as emission does, runs the program, and returns what it printed. */
static void run_dispatcher(const struct ks_signature *sig, const char *text_of_contract, const char *main_text,
                           struct ks_str *out)
{
    struct ks_err err = {0};
    KS_AUTO_JSON struct ks_json *j = NULL;
    KS_AUTO_FREE char *dir = NULL;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, a = KS_STR_INIT, b = KS_STR_INIT, exe = KS_STR_INIT;
    CHECK_OK(ks_json_parse(text_of_contract, strlen(text_of_contract), "contract", &j, &err));
    CHECK_OK(ks_emit_dispatcher(sig, j, "original_symbol", "candidate_symbol", "sm_90a", "default", &text, &err));
    CHECK_OK(ks_dir_make_temp("test-emit", &dir, &err));
    ks_path_join(&a, dir, "dispatch.c");
    ks_path_join(&b, dir, "main.c");
    ks_path_join(&exe, dir, "program");
    CHECK_OK(ks_file_write_atomic(a.data, text.data, text.len, 0644, &err));
    CHECK_OK(ks_file_write_atomic(b.data, main_text, strlen(main_text), 0644, &err));
    char *const cc[] = {"gcc", "-O2", "-Wall", "-Werror", "-Wno-unused-function", a.data, b.data, "-o", exe.data, "-lm", NULL};
    CHECK_OK(ks_tool_run(cc, NULL, &err));
    char *const run[] = {exe.data, NULL};
    CHECK_OK(ks_tool_run(run, out, &err));
    CHECK_OK(ks_dir_remove(dir, &err));
}

#define STUBS(args, names)                                                                                                       \
    "#include <stdio.h>\n"                                                                                                       \
    "int cudaGetDevice(int *d) { *d = 0; return 0; }\n"                                                                          \
    "int cudaDeviceGetAttribute(int *v, int a, int d) { *v = a == 75 ? 9 : 0; (void)d; return 0; }\n"                            \
    "void orig(" args ") __asm__(\"original_symbol\");\nvoid cand(" args ") __asm__(\"candidate_symbol\");\n"                    \
    "void orig(" args ") { putchar('o'); " names " }\nvoid cand(" args ") { putchar('C'); " names " }\n"                         \
    "void entry(" args ");\n"

TEST(an_integer_argument_is_computed_in_double_and_rounded_toward_zero)
{
    static const struct ks_param p[] = {{.name = "cols", .kind = KS_PARAM_I32, .spelling = "int"},
                                        {.name = "root", .kind = KS_PARAM_I32, .spelling = "int"},
                                        {.name = "even", .kind = KS_PARAM_I32, .spelling = "int"},
                                        {.name = "rest", .kind = KS_PARAM_I32, .spelling = "int"}};
    static const struct ks_signature sig = {
        .entry = "entry", .symbol = "entry", .params = p, .n_params = 4, .returns_void = true};
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    run_dispatcher(
        &sig,
        "{\"entry\": \"entry\", \"dims\": [{\"name\": \"cols\", \"lo\": 1, \"hi\": 100}], \"args\": ["
        "{\"name\": \"root\", \"value\": \"sqrt(cols)\"}, {\"name\": \"even\", \"value\": \"cols/2*2\"},"
        "{\"name\": \"rest\", \"value\": \"-(cols - 20) % 7\"}]}",
        STUBS("int c, int r, int e, int m",
              "(void)c, (void)r, (void)e, (void)m;") "int main(void) {\n"
                                                     "  entry(10, 3, 10, 3); entry(11, 3, 11, 2);\n"  /* 11/2*2 is 11 in double; 9
                                                                                                         % 7, then its sign */
                                                     "  entry(11, 3, 10, 2); entry(10, 4, 10, 3);\n"  /* integer arithmetic;
                                                                                                         rounded up */
                                                     "  entry(24, 4, 24, -4); entry(24, 4, 24, 3);\n" /* the sign is the
                                                                                                         dividend's */
                                                     "  return 0;\n}\n",
        &out);
    CHECK_STR(ks_str_cstr(&out), "CCooCo");
}

TEST(lengths_that_overflow_or_divide_by_zero_are_outside)
{
    static const struct ks_param p[] = {{.name = "n", .kind = KS_PARAM_I64, .spelling = "long"},
                                        {.name = "d", .kind = KS_PARAM_I64, .spelling = "long"}};
    static const struct ks_signature sig = {
        .entry = "entry", .symbol = "entry", .params = p, .n_params = 2, .returns_void = true};
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    run_dispatcher(
        &sig,
        "{\"entry\": \"entry\", \"dims\": [{\"name\": \"n\", \"lo\": 0, \"hi\": 4000000000}, {\"name\": \"d\", \"lo\": "
        "0, \"hi\": 9}, {\"name\": \"q\", \"derived\": \"8 / d\"}, {\"name\": \"s\", \"derived\": \"n * n * 2\"}]}",
        STUBS("long n, long d",
              "(void)n, (void)d;") "int main(void) { entry(5, 2); entry(5, 0); entry(4000000000, 2); return 0; }\n",
        &out);
    CHECK_STR(ks_str_cstr(&out), "Coo");
}

TEST(a_row_shorter_than_what_is_used_of_it_is_outside)
{
    static const struct ks_param p[] = {{.name = "x", .kind = KS_PARAM_POINTER, .spelling = "float *", .pointee = KS_DT_FLOAT},
                                        {.name = "cols", .kind = KS_PARAM_I32, .spelling = "int"},
                                        {.name = "ld", .kind = KS_PARAM_I32, .spelling = "int"}};
    static const struct ks_signature sig = {
        .entry = "entry", .symbol = "entry", .params = p, .n_params = 3, .returns_void = true};
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    run_dispatcher(&sig,
                   "{\"entry\": \"entry\", \"dims\": [{\"name\": \"cols\", \"lo\": 1, \"hi\": 64}, {\"name\": \"ld\", "
                   "\"lo\": 1, \"hi\": 80}], \"buffers\": [{\"name\": \"x\", \"direction\": \"inout\", \"dtype\": \"float\", "
                   "\"shape\": [\"2\", \"ld\"], \"used\": \"cols + 1\", \"align\": 4}]}",
                   STUBS("float *x, int c, int l", "(void)x, (void)c, (void)l;") "int main(void) { static float x[160];\n"
                                                                                 "  entry(x, 10, 11); entry(x, 10, 80);\n"
                                                                                 "  entry(x, 10, 10); entry(x, 64, 1);\n"
                                                                                 "  return 0; }\n",
                   &out);
    CHECK_STR(ks_str_cstr(&out), "CCoo");
}

TEST(parameters_may_have_any_name)
{
    static const struct ks_param p[] = {
        {.name = "s", .kind = KS_PARAM_POINTER, .spelling = "const float *", .pointee = KS_DT_FLOAT, .pointee_const = true},
        {.name = "b_s", .kind = KS_PARAM_I32, .spelling = "int"},
        {.name = "restrict", .kind = KS_PARAM_I32, .spelling = "int"},
        {.name = "inside", .kind = KS_PARAM_I32, .spelling = "int"},
        {.name = "i_b_s", .kind = KS_PARAM_I32, .spelling = "int"}};
    static const struct ks_signature sig = {
        .entry = "entry", .symbol = "entry", .params = p, .n_params = 5, .returns_void = true};
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    run_dispatcher(
        &sig,
        "{\"entry\": \"entry\", \"dims\": [{\"name\": \"b_s\", \"lo\": 1, \"hi\": 9}, {\"name\": \"restrict\", \"lo\": 1, "
        "\"hi\": 9}, {\"name\": \"inside\", \"lo\": 1, \"hi\": 9}, {\"name\": \"i_b_s\", \"derived\": \"b_s + 1\"}],"
        "\"buffers\": [{\"name\": \"s\", \"direction\": \"in\", \"dtype\": \"float\", \"shape\": [\"b_s\"], \"align\": 4}]}",
        STUBS("const float *s, int a, int b, int c, int d",
              "(void)s, (void)a, (void)b, (void)c, (void)d;") "static float x[16];\nint main(void) { entry(x, 1, 1, 1, 2); "
                                                              "entry(x, 1, 1, 1, 3); return 0; }\n",
        &out);
    CHECK_STR(ks_str_cstr(&out), "Co");
}

TEST(a_compiler_is_quoted_with_its_error)
{
    struct ks_err err = {0};
    KS_AUTO_FREE char *dir = NULL;
    KS_AUTO_STR struct ks_str c = KS_STR_INIT;
    static const char text[] = "int f(void)\n{\n    return missing;\n}\n";
    CHECK_OK(ks_dir_make_temp("test-emit", &dir, &err));
    ks_path_join(&c, dir, "e.c");
    CHECK_OK(ks_file_write_atomic(c.data, text, strlen(text), 0644, &err));
    char *const cc[] = {"gcc", "-fsyntax-only", c.data, NULL};
    CHECK_INT(ks_tool_run(cc, NULL, &err), KS_ERR_BUILD);
    CHECK_CONTAINS(err.message, "missing");
    CHECK_OK(ks_dir_remove(dir, &err));
}

static void refused(const char *name, const char *value, const char *part)
{
    struct ks_err err = {0};
    KS_AUTO_JSON struct ks_json *j = contract();
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_json *dim = ks_json_at(ks_json_get(j, "dims"), 2);
    ks_json_set_str(dim, "name", name);
    if (value)
        ks_json_set_str(dim, "derived", value);
    else
        ks_json_set(dim, "derived", ks_json_null());
    ks_json_set_i64(dim, "lo", 0);
    ks_json_set_i64(dim, "hi", 9);
    CHECK_INT(ks_emit_dispatcher(&signature, j, "o", "c", "sm_90a", "default", &text, &err), KS_ERR_UNSUPPORTED);
    CHECK_CONTAINS(err.message, part);
}

TEST(a_domain_that_cannot_be_checked_is_refused)
{
    refused("depth", NULL, "no integer parameter holds it");
    refused("half", "64 ; half", "is no expression");
}

TEST(a_signature_that_cannot_be_passed_on_is_refused)
{
    struct ks_err err = {0};
    KS_AUTO_JSON struct ks_json *j = contract();
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_param odd[] = {{.name = "v", .kind = KS_PARAM_UNSUPPORTED, .spelling = "std::vector<int>"}};
    struct ks_signature s = {.entry = "e", .symbol = "e", .params = odd, .n_params = 1, .returns_void = true};
    CHECK_INT(ks_emit_dispatcher(&s, j, "o", "c", "sm_90a", "default", &text, &err), KS_ERR_UNSUPPORTED);
    s = (struct ks_signature){.entry = "e", .symbol = "e", .params = params, .n_params = 1};
    CHECK_INT(ks_emit_dispatcher(&s, j, "o", "c", "sm_90a", "default", &text, &err), KS_ERR_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "neither void nor");
}

/* What emission says about a C file: "" nothing. */
static void state_of(const char *text, const char *part)
{
    struct ks_err err = {0};
    KS_AUTO_FREE char *dir = NULL;
    KS_AUTO_STR struct ks_str c = KS_STR_INIT, o = KS_STR_INIT;
    CHECK_OK(ks_dir_make_temp("test-emit", &dir, &err));
    ks_path_join(&c, dir, "v.c");
    ks_path_join(&o, dir, "v.o");
    CHECK_OK(ks_file_write_atomic(c.data, text, strlen(text), 0644, &err));
    char *const cc[] = {"gcc", "-fPIC", "-c", c.data, "-o", o.data, NULL};
    CHECK_OK(ks_tool_run(cc, NULL, &err));
    enum ks_code code = ks_emit_check_state(o.data, "the unit", &err);
    CHECK_INT(code, part[0] ? KS_ERR_UNSUPPORTED : KS_OK);
    if (part[0])
        CHECK_CONTAINS(err.message, part);
    CHECK_OK(ks_dir_remove(dir, &err));
}

#define USED "__attribute__((used)) static "
TEST(variables_that_outlive_a_call_are_told_from_nvccs_own)
{
    state_of("int f(int i) { static const int t[] = {1, 2, 3}; static const char *const n[] = {\"a\"}; return t[i] + *n[0]; }\n",
             "");
    state_of("int counter;\n", "variable 'counter'");
    state_of("int f(void) { static int calls; return ++calls; }\n", "variable 'calls.");
    state_of("int table[2] = {1};\n", "variable 'table'");
    state_of("__attribute__((common)) int shared;\n", "variable 'shared'");
    state_of("__thread int each;\n", "variable 'each'");
    state_of("const char *text = \"a\";\n", "variable 'text'");
    state_of("__attribute__((section(\"mine\"))) int counter;\n", "variable 'counter'");
    state_of("__attribute__((section(\".nvFatBinSegment2\"))) int counter = 1;\n", "variable 'counter'");
    state_of(USED "int c __asm__(\".Lcalls\");\nint f(void) { return ++c; }\n", "4 bytes without a name in section '.bss'");
    state_of(USED "int __nv_calls;\n", "variable '__nv_calls'");
    state_of(USED "char c __asm__(\"_ZStL8__ioinit\");\n", "variable '_ZStL8__ioinit'");
    state_of(USED "long h __asm__(\"_ZL20__cudaFatCubinHandle\");\n", "");
    state_of(USED "long h[2] __asm__(\"_ZL20__cudaFatCubinHandle\");\n", "variable '_ZL20__cudaFatCubinHandle'");
    state_of(USED "long h __asm__(\"_ZZ21__device_stub__Z1kPfPfE8__handle\");\n", "");
    state_of(USED "long h __asm__(\"_ZZ20__device_stub__Z1kPfPfE8__handle2\");\n", "__handle2'");
    state_of(USED "long h __asm__(\"_ZZ4mainE8__handle\");\n", "variable '_ZZ4mainE8__handle'");
    state_of(USED "int h __asm__(\"_ZZ21__device_stub__Z1kPfPfE5__tmp\");\n", "__tmp'");
}

TEST(what_other_objects_may_see_is_told_by_its_type)
{
    CHECK(ks_symbol_is_global_definition('T') && ks_symbol_is_global_definition('W') && ks_symbol_is_global_definition('u'));
    CHECK(!ks_symbol_is_global_definition('U') && !ks_symbol_is_global_definition('t') && !ks_symbol_is_global_definition('w'));
}

TEST(visibility_is_read_from_the_object)
{
    static const char text[] = "void shown(void) {}\n__attribute__((visibility(\"hidden\"))) void kept(void) {}\n";
    struct ks_err err = {0};
    char visibility[16];
    KS_AUTO_FREE char *dir = NULL;
    KS_AUTO_STR struct ks_str c = KS_STR_INIT, o = KS_STR_INIT;
    CHECK_OK(ks_dir_make_temp("test-emit", &dir, &err));
    ks_path_join(&c, dir, "v.c");
    ks_path_join(&o, dir, "v.o");
    CHECK_OK(ks_file_write_atomic(c.data, text, strlen(text), 0644, &err));
    char *const cc[] = {"gcc", "-c", c.data, "-o", o.data, NULL};
    CHECK_OK(ks_tool_run(cc, NULL, &err));
    CHECK_OK(ks_symbol_visibility(o.data, "shown", visibility, &err));
    CHECK_STR(visibility, "default");
    CHECK_OK(ks_symbol_visibility(o.data, "kept", visibility, &err));
    CHECK_STR(visibility, "hidden");
    CHECK_INT(ks_symbol_visibility(o.data, "absent", visibility, &err), KS_ERR_NOT_FOUND);
    CHECK_OK(ks_dir_remove(dir, &err));
}

TEST_MAIN
