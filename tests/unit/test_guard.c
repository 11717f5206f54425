/* The guard of an emitted object: every argument on both sides of every boundary of the domain takes the expected path, and a
 * guard that was changed anywhere is caught by the same table. */

#include "base/file.h"
#include "base/process.h"
#include "driver/emit.h"
#include "tests/unit/test.h"

#include <stdlib.h>

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
    {.name = "half", .kind = KS_PARAM_I32, .spelling = "int"},
    {.name = "scale", .kind = KS_PARAM_F32, .spelling = "float"},
    {.name = "steps", .kind = KS_PARAM_I32, .spelling = "int"}};
static const struct ks_signature signature = {
    .entry = "entry", .symbol = "entry", .params = params, .n_params = sizeof(params) / sizeof(params[0]), .returns_void = true};

static const char contract_text[] =
    "{\"entry\": \"entry\","
    " \"dims\": [{\"name\": \"rows\", \"lo\": 4, \"hi\": 100, \"multiple\": 2}, {\"name\": \"cols\", \"choices\": [64, 128]},"
    "            {\"name\": \"half\", \"derived\": \"rows / 2\"}],"
    " \"buffers\": [{\"name\": \"x\", \"direction\": \"in\", \"dtype\": \"float\", \"shape\": [\"rows\", \"cols\"], \"align\": "
    "16},"
    "               {\"name\": \"y\", \"direction\": \"out\", \"dtype\": \"float\", \"shape\": [\"half\", \"cols\"], \"align\": "
    "16}],"
    " \"args\": [{\"name\": \"scale\", \"value\": \"rsqrt(cols)\"}, {\"name\": \"steps\", \"value\": \"rows * 3 / 2\"}]}";

/* One call a line: what is changed against a call inside, and the letter it must print. */
static const char table_text[] =
    "#include <limits.h>\n#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n"
    "typedef void fn(const float *x, float *y, int rows, long cols, int half, float scale, int steps);\n"
    "fn entry;\nfn orig __asm__(\"original_symbol\"), cand __asm__(\"candidate_symbol\");\n"
    "static char took;\n"
    "#define SIDE(name, letter) void name(const float *x, float *y, int rows, long cols, int half, float scale, int steps) \\\n"
    "{ took = letter; (void)x, (void)y, (void)rows, (void)cols, (void)half, (void)scale, (void)steps; }\n"
    "SIDE(orig, 'o')\nSIDE(cand, 'C')\n"
    "static int device, failing, capability[4][2] = {{9, 0}, {8, 0}, {9, 1}, {10, 0}};\n"
    "int cudaGetDevice(int *d) { *d = device; return failing == 1; }\n"
    "int cudaDeviceGetAttribute(int *v, int a, int d) { *v = capability[d & 3][a - 75]; return failing == a; }\n"
    "static float buf[1 << 18] __attribute__((aligned(256)));\n"
    "static int line, bad;\n"
    "static void want(char letter, const float *x, float *y, int rows, long cols, int half, float scale, int steps)\n"
    "{ took = '?'; entry(x, y, rows, cols, half, scale, steps); line++; bad |= took != letter; }\n"
    "static float *const px = buf, *const py = buf + (1 << 17);\n"
    "static void shape(char letter, int rows, long cols)\n"
    "{ want(letter, px, py, rows, cols, rows / 2, (float)(1.0 / sqrt((double)cols)), (int)(rows * 3.0 / 2)); }\n"
    "static void place(char letter, const float *x, float *y) { want(letter, x, y, 8, 64, 4, 0.125f, 12); }\n"
    "int main(void) {\n"
    "  failing = 1; shape('o', 8, 64); failing = 75; shape('o', 8, 64); failing = 76; shape('o', 8, 64); failing = 0;\n"
    "  for (int rows = -4; rows <= 110; rows++)\n"
    "    for (long cols = 62; cols <= 130; cols++)\n"
    "      shape(rows >= 4 && rows <= 100 && rows % 2 == 0 && (cols == 64 || cols == 128) ? 'C' : 'o', rows, cols);\n"
    "  shape('o', INT_MIN, 64); shape('o', INT_MAX, 64); shape('o', INT_MAX - 1, 64); shape('o', 8, 0); shape('o', 8, -64);\n"
    "  shape('o', 8, (1L << 32) + 64); shape('o', 8, LONG_MAX); shape('o', 8, LONG_MIN);\n"
    "  for (int d = -2; d <= 2; d++) {\n"
    "    want(d ? 'o' : 'C', px, py, 8, 64, 4 + d, 0.125f, 12); want(d ? 'o' : 'C', px, py, 8, 64, 4, 0.125f, 12 + d);\n"
    "    want('C', px, py, 8, 64, 4, 0.125f * (1 + 4e-7f * d), 12);\n"
    "    want(d ? 'o' : 'C', px, py, 8, 64, 4, 0.125f * (1 + 3e-6f * d), 12); }\n"
    "  want('o', px, py, 8, 64, 4, NAN, 12); want('o', px, py, 8, 64, 4, INFINITY, 12); want('o', px, py, 8, 64, 4, -0.125f, "
    "12);\n"
    "  for (int i = 0; i < 9; i++) { place(i % 4 ? 'o' : 'C', px + i, py); place(i % 4 ? 'o' : 'C', px, py + i); }\n"
    "  place('o', 0, py); place('o', px, 0);\n"
    "  for (int i = -600; i <= 600; i += 4) place(i <= -4 * 64 || i >= 8 * 64 ? 'C' : 'o', py, py + i);\n"
    "  device = 1; shape('o', 8, 64); device = 2; shape('o', 8, 64); device = 3; shape('o', 8, 64);\n"
    "  device = -1; shape('o', 8, 64); device = 64; shape('o', 8, 64); device = 63; shape('o', 8, 64); device = 0; shape('C', 8, "
    "64);\n"
    "  printf(\"%d calls, %s\\n\", line, bad ? \"some wrong\" : \"all right\");\n  return 0;\n}\n";

struct bench {
    char *dir;
    struct ks_str guard, main, table, exe; /* table: compiled main */
};

enum finding { ALL_RIGHT, SOME_WRONG, CRASHES, NO_PROGRAM };

/* What the table says of a dispatcher's text; out: its words, or the compiler's. */
static enum finding judge(struct bench *b, const struct ks_str *text, struct ks_str *out)
{
    struct ks_err err;
    ks_str_clear(out);
    CHECK_OK(ks_file_write_atomic(b->guard.data, text->data, text->len, 0644, &err));
    char *const cc[] = {"gcc",       "-O0", "-w", "-Werror=implicit-function-declaration", b->guard.data, b->table.data, "-o",
                        b->exe.data, "-lm", NULL};
    char *const run[] = {b->exe.data, NULL};
    if (ks_tool_run(cc, NULL, &err) != KS_OK) {
        ks_str_addf(out, "%s\n", err.message);
        return NO_PROGRAM;
    }
    if (ks_tool_run(run, out, &err) != KS_OK) {
        ks_str_addf(out, "%s\n", err.message);
        return CRASHES;
    }
    return strstr(ks_str_cstr(out), "calls, all right")    ? ALL_RIGHT
           : strstr(ks_str_cstr(out), "calls, some wrong") ? SOME_WRONG
                                                           : CRASHES;
}

static void bench_open(struct bench *b, struct ks_str *text)
{
    struct ks_err err;
    KS_AUTO_JSON struct ks_json *j = NULL;
    *b = (struct bench){.guard = KS_STR_INIT, .main = KS_STR_INIT, .table = KS_STR_INIT, .exe = KS_STR_INIT};
    CHECK_OK(ks_json_parse(contract_text, strlen(contract_text), "contract", &j, &err));
    CHECK_OK(ks_emit_dispatcher(&signature, j, "original_symbol", "candidate_symbol", "sm_90a", "default", text, &err));
    CHECK_OK(ks_dir_make_temp("test-guard", &b->dir, &err));
    ks_path_join(&b->guard, b->dir, "guard.c");
    ks_path_join(&b->main, b->dir, "main.c");
    ks_path_join(&b->table, b->dir, "main.o");
    ks_path_join(&b->exe, b->dir, "program");
    CHECK_OK(ks_file_write_atomic(b->main.data, table_text, strlen(table_text), 0644, &err));
    char *const cc[] = {"gcc", "-O0", "-w", "-c", b->main.data, "-o", b->table.data, NULL};
    CHECK_OK(ks_tool_run(cc, NULL, &err));
}

static void bench_close(struct bench *b)
{
    struct ks_err err;
    CHECK_OK(ks_dir_remove(b->dir, &err));
    free(b->dir);
    ks_str_release(&b->guard);
    ks_str_release(&b->main);
    ks_str_release(&b->table);
    ks_str_release(&b->exe);
}

TEST(both_sides_of_every_boundary_take_the_right_path)
{
    struct bench b;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, out = KS_STR_INIT;
    bench_open(&b, &text);
    CHECK_INT(judge(&b, &text, &out), ALL_RIGHT);
    printf("%s", ks_str_cstr(&out));
    bench_close(&b);
}

/* A change of the text at one place. */
static const struct {
    const char *from, *to;
} mutations[] = {{" < ", " <= "},         {" > ", " >= "},     {" <= ", " < "},  {" >= ", " > "},    {" == ", " != "},
                 {" != ", " == "},        {" || ", " && "},    {" && ", " || "}, {"return 0;", ";"}, {" % ", " / "},
                 {"100LL", "102LL"},      {" 4LL", " 2LL"},    {" + ", " - "},   {"!(", "("},        {"ki_div", "ki_mod"},
                 {"kf_rsqrt", "kf_sqrt"}, {"kf_mul", "kf_add"}};

/* Mutants that mean the same for every call of this contract: what they change guards against values that its small domain
 * cannot reach (sizes of buffers, values past 64 bits, overflows: test_emit.c has contracts that reach them), or a single double.
 */
static const struct {
    const char *line, *from;
} equivalent[] = {{"kscc_n_", " <= "},         {"kscc_n_", " >= "},        {"kscc_n_", " && "},
                  {"kscc_n_", " || "},         {"922337203685477", " < "}, {"922337203685477", " > "},
                  {"922337203685477", " && "}, {"1e-6", " <= "},           {"if (kscc_bad)\n", "return 0;"}};

static bool means_the_same(const char *line, size_t len, const char *from)
{
    for (size_t i = 0; i < sizeof(equivalent) / sizeof(equivalent[0]); i++)
        if (strcmp(equivalent[i].from, from) == 0 && memmem(line, len, equivalent[i].line, strlen(equivalent[i].line)))
            return true;
    return false;
}

/* The beginning of the statement's line, or of the condition in front of a "return". */
static const char *line_of(const char *begin, const char *p, bool with_condition)
{
    for (int lines = with_condition ? 2 : 1; p > begin && (p[-1] != '\n' || --lines > 0);)
        p--;
    return p;
}

TEST(a_changed_guard_is_caught)
{
    struct bench b;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, mutant = KS_STR_INIT, out = KS_STR_INIT;
    int n = 0, survived = 0, crashed = 0, broken = 0;
    bench_open(&b, &text);
    const char *begin = strstr(text.data, "static int right_device"), *end = strstr(text.data, "kscc_entry(");
    for (size_t m = 0; begin && end && m < sizeof(mutations) / sizeof(mutations[0]); m++)
        for (const char *p = begin; (p = strstr(p, mutations[m].from)) && p < end; p++) {
            const char *line = line_of(begin, p, strcmp(mutations[m].from, "return 0;") == 0);
            size_t len = (size_t)(p - line) + strcspn(p, "\n");
            if (means_the_same(line, len, mutations[m].from))
                continue;
            ks_str_clear(&mutant);
            ks_str_addn(&mutant, text.data, (size_t)(p - text.data));
            ks_str_add(&mutant, mutations[m].to);
            ks_str_add(&mutant, p + strlen(mutations[m].from));
            enum finding f = judge(&b, &mutant, &out);
            n++;
            survived += f == ALL_RIGHT;
            crashed += f == CRASHES;
            broken += f == NO_PROGRAM; /* would say nothing about the table */
            if (f == ALL_RIGHT || f == NO_PROGRAM)
                printf("%s: '%s' for '%s' in: %.*s\n", f == ALL_RIGHT ? "survived" : "no program", mutations[m].to,
                       mutations[m].from, (int)len, line);
        }
    printf("%d mutants, %d survived, %d crashed, %d are no programs\n", n, survived, crashed, broken);
    CHECK(n >= 40);
    CHECK_INT(survived, 0);
    CHECK_INT(broken, 0);
    CHECK(crashed < n / 10);
    bench_close(&b);
}

/* The least of many batches, which other load does not hit, against calls of the original itself.  The runtime's two functions
 * are stand-ins here: what a real cudaGetDevice() takes comes on top. */
static const char clock_text[] =
    "#include <stdio.h>\n#include <time.h>\n"
    "typedef void fn(const float *x, float *y, int rows, long cols, int half, float scale, int steps);\n"
    "fn entry;\nfn orig __asm__(\"original_symbol\"), cand __asm__(\"candidate_symbol\");\n"
    "static volatile int calls;\n"
    "#define SIDE(name) __attribute__((noinline)) void name(const float *x, float *y, int rows, long cols, int half, float "
    "scale, int steps) \\\n"
    "{ calls += rows; (void)x, (void)y, (void)cols, (void)half, (void)scale, (void)steps; }\n"
    "SIDE(orig)\nSIDE(cand)\n"
    "__attribute__((noinline)) int cudaGetDevice(int *d) { *d = 0; return 0; }\n"
    "int cudaDeviceGetAttribute(int *v, int a, int d) { *v = a == 75 ? 9 : 0; return d; }\n"
    "static float buf[1 << 16] __attribute__((aligned(256)));\n"
    "static double batch(fn *f) { struct timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a);\n"
    "  for (int i = 0; i < 20000; i++) f(buf, buf + (1 << 15), 8, 64, 4, 0.125f, 12);\n"
    "  clock_gettime(CLOCK_MONOTONIC, &b); return ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / 20000; }\n"
    "int main(void) { double guarded = 1e9, plain = 1e9;\n"
    "  for (int i = 0; i < 200; i++) { double g = batch(entry), p = batch(orig); if (g < guarded) guarded = g; if (p < plain) "
    "plain = p; }\n"
    "  printf(\"%.2f\\n\", guarded - plain); return 0; }\n";

TEST(the_guard_costs_less_than_50_ns)
{
    struct bench b;
    struct ks_err err;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, out = KS_STR_INIT;
    bench_open(&b, &text);
    CHECK_OK(ks_file_write_atomic(b.guard.data, text.data, text.len, 0644, &err));
    CHECK_OK(ks_file_write_atomic(b.main.data, clock_text, strlen(clock_text), 0644, &err));
    char *const cc[] = {"gcc",      "-O2", "-fPIC", "-ffp-contract=off", "-fno-math-errno", b.guard.data, b.main.data, "-o",
                        b.exe.data, "-lm", NULL}; /* as emission compiles it */
    char *const run[] = {b.exe.data, NULL};
    CHECK_OK(ks_tool_run(cc, NULL, &err));
    CHECK_OK(ks_tool_run(run, &out, &err));
    printf("guard: %s ns a call\n", ks_str_cstr(&out));
    double ns = strtod(ks_str_cstr(&out), NULL);
    CHECK(out.len > 0 && ns > 0 && ns < 50);
    bench_close(&b);
}

TEST_MAIN
