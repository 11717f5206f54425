/* Objects that nvcc makes, read back, and the two gates on them. */
#include "harness/object.h"

#include "harness/build.h"
#include "harness/elf.h"
#include "base/file.h"
#include "tests/unit/test.h"

static char *work;
static const char *const baseline_text =
    "#include <cuda_runtime.h>\n"
    "__device__ int counter;\n"
    "__constant__ float table[4];\n"
    "__global__ void k(float *y, int n) { int i = threadIdx.x; if (i < n) y[i] = table[i % 4] + counter; }\n"
    "void go(float *y, int n, cudaStream_t s) { k<<<1, 128, 0, s>>>(y, n); }\n";
#define SYMBOL "_Z2goPfiP11CUstream_st"

static struct ks_built *baseline;

/* C++14: the headers of the default, C++17, are a third of each build. */
static struct ks_built *build(const char *text, const char *tag, bool finished)
{
    static char *argv[] = {
        KSCC_CUDA_ROOT "/bin/nvcc", "-O2", "-std=c++14", "-arch=sm_80", "-MD", "-c", "dir/unit.cu", "-o", "x.o", NULL};
    struct ks_session_options o = {
        .unit_path = "dir/unit.cu", .nvcc_argv = argv, .input_index = 6, .arch = "sm_90a", .work_dir = work};
    struct ks_built *b = NULL;
    struct ks_err err;
    CHECK_OK(ks_build_object(&o, text, strlen(text), tag, 120000, &b, NULL, &err));
    if (b && finished)
        CHECK_OK(ks_build_finish(&o, b, 120000, NULL, &err));
    return b;
}

/* The verdict of both gates on a variant: "" passed. */
static void judge(const char *text, const char *interface, const char *admission)
{
    struct ks_built *b = baseline, *c = build(text, "cand", false);
    KS_AUTO_STR struct ks_str i = KS_STR_INIT, a = KS_STR_INIT;
    if (b && c) {
        CHECK(ks_interface_check(&b->object, &c->object, SYMBOL, &i) == (interface[0] == 0));
        CHECK_CONTAINS(ks_str_cstr(&i), interface);
        CHECK(ks_admission_check(&b->object, &c->object, &a) == (admission[0] == 0));
        CHECK_CONTAINS(ks_str_cstr(&a), admission);
        if (!admission[0])
            CHECK_STR(ks_str_cstr(&a), "");
    }
    ks_built_free(c);
}

TEST(a_build_is_described)
{
    struct ks_err err;
    CHECK_OK(ks_dir_make_temp("kscc-test", &work, &err));
    struct ks_built *b = build(baseline_text, "one", true), *twin = build(baseline_text, "two", false);
    CHECK_CONTAINS(ks_str_cstr(&b->object.ptx), ".target sm_90a");
    CHECK_CONTAINS(ks_str_cstr(&b->object.ptx), "dir/unit.cu"); /* lines are the user's */
    CHECK(ks_object_symbol(&b->object, SYMBOL) != NULL);
    CHECK_INT(b->n_kernels, 1);
    CHECK_STR(b->kernels[0].name, "_Z1kPfi");
    CHECK(b->kernels[0].registers > 0);
    CHECK_INT(b->object.constructors_bytes, 8);
    CHECK_INT(b->object.n_fatbins, 1);
    CHECK_STR(b->object_hash, twin->object_hash);
    baseline = b;
    ks_built_free(twin);
}

/* What emission builds is what the session built, from wherever and whenever; names with internal linkage carry a number that
 * nvcc makes of the path. */
TEST(an_object_built_again_is_recognised)
{
    static char *argv[] = {KSCC_CUDA_ROOT "/bin/nvcc", "-O2", "-std=c++14", "-c", "dir/unit.cu", NULL};
    static const char text[] =
        "#include <cuda_runtime.h>\n"
        "namespace { __device__ int hidden[3]; __global__ void k0(float *y) { y[0] = hidden[1]; } }\n"
        "static __device__ __forceinline__ float twice(float x) { if (x > 3.0f) x = __sinf(x); return x * 0.7f; }\n"
        "static __global__ void k1(float *y) { y[0] = twice(__TIME__[7] + y[1]); }\n"
        "void go(float *y, int n, cudaStream_t s) { k0<<<1, n, 0, s>>>(y); k1<<<1, n, 0, s>>>(y); }\n";
    static const char other[] =
        "#include <cuda_runtime.h>\n"
        "namespace { __device__ int hidden[3]; __global__ void k0(float *y) { y[0] = hidden[2]; } }\n"
        "static __device__ __forceinline__ float twice(float x) { if (x > 3.0f) x = __sinf(x); return x * 0.7f; }\n"
        "static __global__ void k1(float *y) { y[0] = twice(__TIME__[7] + y[1]); }\n"
        "void go(float *y, int n, cudaStream_t s) { k0<<<1, n, 0, s>>>(y); k1<<<1, n, 0, s>>>(y); }\n";
    struct ks_session_options o = {
        .unit_path = "dir/unit.cu", .nvcc_argv = argv, .input_index = 4, .arch = "sm_90a", .work_dir = work};
    struct ks_built *session = NULL, *emission = NULL, *changed = NULL;
    struct ks_err err;
    CHECK_OK(ks_build(&o, text, strlen(text), "judged", 120000, &session, NULL, &err));
    o.unit_path = "../elsewhere/dir/unit.cu";
    CHECK_OK(ks_build_object(&o, text, strlen(text), "emitted", 120000, &emission, NULL, &err));
    CHECK_OK(ks_build_object(&o, other, strlen(other), "changed", 120000, &changed, NULL, &err));
    CHECK_STR(session->object_hash, emission->object_hash);
    CHECK(strcmp(session->object_hash, changed->object_hash) != 0);
    ks_built_free(session);
    ks_built_free(emission);
    ks_built_free(changed);
}

/* The same bytes of code, and other things that they stand for. */
TEST(what_code_refers_to_is_part_of_what_was_judged)
{
    static char *argv[] = {KSCC_CUDA_ROOT "/bin/nvcc", "-O2", "-std=c++14", "-c", "dir/unit.cu", NULL};
    static const char *const heads[] = {
        "#define K k1\n#define N 3\n#define TEXT \"one\"\n", "#define K k2\n#define N 3\n#define TEXT \"one\"\n",
        "#define K k1\n#define N 5\n#define TEXT \"one\"\n", "#define K k1\n#define N 3\n#define TEXT \"two\"\n"};
    static const char body[] =
        "#include <cuda_runtime.h>\n#include <stdexcept>\n#include <assert.h>\n"
        "static __global__ void k1(float *y) { y[0] = 1; }\nstatic __global__ void k2(float *y) { y[0] = 2; }\n"
        "void go(float *y, int n, cudaStream_t s) { static const int t[4] = {1, 2, N, 4}; assert(n < 1000);\n"
        "if (n == 77) throw std::runtime_error(TEXT); K<<<1, t[n & 3], 0, s>>>(y); }\nvoid *keep() { return (void *)(n_ ? k1 : "
        "k2); }\n";
    char hashes[4][65];
    for (size_t i = 0; i < 4; i++) {
        struct ks_session_options o = {
            .unit_path = "dir/unit.cu", .nvcc_argv = argv, .input_index = 4, .arch = "sm_90a", .work_dir = work};
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        struct ks_built *b = NULL, *again = NULL;
        struct ks_err err;
        ks_str_addf(&text, "%sstatic volatile const int n_ = 0;\n%s", heads[i], body);
        CHECK_OK(ks_build_object(&o, text.data, text.len, "first", 120000, &b, NULL, &err));
        o.device = KS_DEVICE_CUDA;
        CHECK_OK(ks_build_object(&o, text.data, text.len, "in/another", 120000, &again, NULL, &err));
        CHECK_STR(b->object_hash, again->object_hash);
        memcpy(hashes[i], b->object_hash, 65);
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(hashes[i], hashes[k]) != 0);
        ks_built_free(b);
        ks_built_free(again);
    }
}

TEST(a_byte_order_mark_stays_in_front)
{
    struct ks_built *b = build("\xef\xbb\xbf#include <cuda_runtime.h>\n__global__ void k(float *y) { y[0] = 1; }\n"
                               "void go(float *y, int n, cudaStream_t s) { k<<<1, n, 0, s>>>(y); }\n",
                               "bom", true);
    CHECK(b && b->n_kernels == 1);
    ks_built_free(b);
}

TEST(new_kernels_are_welcome)
{
    judge(
        "#include <cuda_runtime.h>\n"
        "#include <algorithm>\n"
        "__device__ int counter;\n__constant__ int more[7] = {1};\n"
        "__constant__ float table[4];\n"
        "template <int N> __global__ void fast(float *y, int n) { int i = threadIdx.x * N; if (i < n) y[i] = table[i % 4] + "
        "counter + more[0]; }\n"
        "static __global__ void other(float *y) { counter = (int)y[0]; }\n"
        "void go(float *y, int n, cudaStream_t s) { fast<1><<<1, std::min(n, 128), 0, s>>>(y, n); other<<<1, 1, 0, s>>>(y); }\n",
        "", "");
}

TEST(texts_that_are_only_read_are_no_state)
{
    struct ks_str text = KS_STR_INIT;
    ks_str_addf(&text,
                "#include <cassert>\n%s"
                "static __device__ char idle[4];\n"
                "static __global__ void p(float *y, int n) { assert(n < 100); if (n > 3) assert(y[0] > 3);\n"
                "y[1] = \"0123456\"[n] + sinf(y[n]) + (float)cos((double)y[1]); }\nvoid keep(float *y) { p<<<1, 1>>>(y, 1); }\n",
                baseline_text);
    judge(text.data, "defines a new external symbol '_Z4keepPf'", "");
    ks_str_release(&text);
}

TEST(a_missing_entry_is_an_interface_failure)
{
    judge("#include <cuda_runtime.h>\nvoid go(float *y, long n, cudaStream_t s) { (void)y; (void)n; (void)s; }\n__global__ void "
          "k() {}\n",
          "the entry's symbol '" SYMBOL "' is gone", "");
}

TEST(runtime_names_cannot_be_defined)
{
    struct ks_str text = KS_STR_INIT;
    ks_str_addf(&text, "%sextern \"C\" cudaError_t cudaStreamQuery(cudaStream_t) { static int n; n++; return cudaSuccess; }\n",
                baseline_text);
    judge(text.data, "defines a new external symbol 'cudaStreamQuery'", "keeps host state");
    ks_str_release(&text);
}

TEST(host_state_constructors_and_foreign_calls_are_refused)
{
    static const struct {
        const char *extra, *reason;
    } variants[] = {
        {"static int calls; int *where() { return &calls; }\n", "keeps host state between calls: variable '_ZL5calls'"},
        {"__attribute__((constructor)) static void early() { asm volatile(\"\"); }\n", "runs code before or after main"},
        {"#include <unistd.h>\nstatic __attribute__((used)) void f() { fork(); }\n", "host code calls 'fork'"},
        {"#include <dlfcn.h>\nstatic __attribute__((used)) void f() { dlopen(\"x\", 1); }\n", "host code calls 'dlopen'"},
        {"#include <thread>\nstatic __attribute__((used)) void f() { std::thread([] {}).detach(); }\n", "host code calls "},
        {"static __attribute__((used)) void f() { asm volatile(\"syscall\"); }\n", "contains a system call instruction"},
        {"static __device__ int calls;\n__global__ void c() { calls++; }\n",
         "keeps device state between calls: variable 'calls'"},
        {"__global__ void c(float *y) { static int n = 1; y[0] = n++; }\n",
         "keeps device state between calls: variable '_ZZ1cPfE1n'"},
        {"__global__ void c(float *y) { asm volatile(\"{ .global .u32 hidden;\\nst.global.u32 [hidden], 1; }\"); }\n",
         "'hidden'"},
        {"__constant__ int last;\n__global__ void c(int *y) { *y = last; }\nstatic __attribute__((used)) void f(int v) { "
         "cudaMemcpyToSymbol(last, &v, 4); }\n",
         "host code can write the constant 'last'"},
        {"extern \"C\" { static __device__ int __unnamed_7; }\n__global__ void c(int *y) { *y = __unnamed_7++; }\n",
         "'__unnamed_7'"},
        {"extern \"C\" { static __device__ char __unnamed_7[3] = {1, 2}; }\n__global__ void c(int *y) { *y = __unnamed_7[1]; }\n",
         "'__unnamed_7'"},
        {"__global__ void c(int *y) { char *s = const_cast<char *>(\"counter\"); *y = s[*y]++; }\n", "variable '$str'"},
        {"static __device__ __noinline__ void w(char *s, int n) { s[n] = 1; }\n__global__ void c(int *y, int n) { "
         "w(n > 3 ? (char *)\"one\" : (char *)\"two\", n); *y = \"one\"[n]; }\n",
         "variable '$str"},
        /* tables as the compiler's own, and bytes that only look unused */
        {"extern \"C\" { static __device__ int __cudart_i2opi_f[6] = {1}; }\n__global__ void c(int *y) { *y = "
         "__cudart_i2opi_f[*y]++; }\n",
         "variable '__cudart_i2opi_f'"},
        {"__global__ void c(int *y) { asm volatile(\"{ .global .align 4 .b8 __cudart_x[4] = {1, 0, 0, 0};\\n.reg .u64 %%q;\\nmov.u64 "
         "%%q, __cudart_x; st.global.u32 [%%q], %0; }\" : : \"r\"(*y)); }\n",
         "'__cudart_x'"},
        {"__global__ void c(int *y, float x) { asm volatile(\"{ .reg .u64 %%q;\\nmov.u64 %%q, __cudart_i2opi_f;\\n/*\\nld.global.u32 */ "
         "st.global.u32 [%%q], %0; }\" : : \"r\"(*y)); *y = sinf(x); }\n",
         "variable '__cudart_i2opi_f'"},
        {"__global__ void c(int *y, float x) { unsigned a, b; asm volatile(\"{ .reg .u64 %%q;\\nmov.u64 %%q, "
         "__cudart_i2opi_f;\\nmov.b64 {%0, %1}, %%q; }\" : \"=r\"(a), \"=r\"(b)); *(int *)((unsigned long long)b << 32 | a) = "
         "1; *y = sinf(x); }\n",
         "variable '__cudart_i2opi_f'"},
        {"static __device__ char idle[4];\nstatic __attribute__((used)) void f(int v) { cudaMemcpyToSymbol(idle, &v, 4); }\n",
         "variable 'idle'"},
        {"static __device__ __noinline__ void w(char **s) { **s = 1; }\n__global__ void c(int *y, int n) { char *s[2] = {(char "
         "*)\"one\", (char *)\"two\"}; w(s + n); *y = \"one\"[n]; }\n",
         "variable '$str"},
        {"__global__ void c(long *y) { *y = clock64(); }\n", "device code reads %clock"},
        {"__global__ void c(long *y) { asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(*y)); }\n",
         "device code reads %globaltimer"},
        {"static __attribute__((used)) void f() { static thread_local int t; t++; }\n", "host code calls '__tls_get_addr'"},
        {"static __attribute__((used)) thread_local int each;\n", "keeps host state between calls: variable '_ZL4each'"},
        {"static int calls __asm__(\".Lcalls\");\nint count() { return ++calls; }\n", "without a name in section '.bss'"},
        {"static char calls __asm__(\"_ZL22__nv_inited_managed_rt\");\nint count() { return ++calls; }\n",
         "'_Z5countv' uses '_ZL22__nv_inited_managed_rt', which belongs to code of the compiler"},
        {"static int calls __asm__(\"_ZZ19__device_stub__Z1cPfPfE5__tmp\");\nint count() { return ++calls; }\n", "__tmp'"},
        {"static bool f __asm__(\"_ZZ20__device_stub__Z1cPfPfE5__tmp\");\nvoid __device_stub_x() { f = !f; }\n",
         "where there are 1 kernel"},
        {"__constant__ int last;\n__global__ void c(int *y) { *y = last; }\nstatic __attribute__((used)) void f(int *v) { "
         "asm volatile(\"incl _ZL4last(%%rip)\" ::: \"memory\"); }\n",
         "'_ZL1fPi' uses '_ZL4last', which belongs to the device"},
        {"#include <stdlib.h>\nstatic void later() { asm volatile(\"nop\"); }\nvoid f() { atexit(later); }\n",
         "host code calls 'atexit', which only the compiler's own code may"},
        {"asm(\".pushsection .init,\\\"ax\\\",@progbits\\n nop\\n .popsection\");\n", "has code in section '.init'"},
        {"asm(\".pushsection .note.GNU-stack,\\\"x\\\",@progbits\\n .popsection\");\n", "has code in section '.note.GNU-stack'"},
        {"static __attribute__((used)) unsigned long f() { return __builtin_ia32_rdtsc(); }\n", "reads the processor's clock"},
        {"#include <xmmintrin.h>\nstatic __attribute__((used)) unsigned f() { return _mm_getcsr(); }\n",
         "registers or bytes of the"},
        {"#include <xmmintrin.h>\nstatic __attribute__((used)) void f(unsigned v) { _mm_setcsr(v); }\n",
         "registers or bytes of the"},
        {"static __attribute__((used, target(\"fxsr\"))) void f(void *p) { __builtin_ia32_fxsave64(p); }\n",
         "registers or bytes of the"},
        {"static __attribute__((used, target(\"xsave\"))) void f(void *p) { __builtin_ia32_xrstor64(p, 7); }\n",
         "registers or bytes of the"},
        {"static __attribute__((used, target(\"fsgsbase\"))) void f(long v) { __builtin_ia32_wrgsbase64(v); }\n",
         "registers or bytes of the"},
        {"static __attribute__((used)) void *f() { return __builtin_thread_pointer(); }\n", "registers or bytes of the"},
        {"static __attribute__((used)) long f() { return ((long *)__builtin_thread_pointer())[64]; }\n",
         "registers or bytes of the"},
        {"extern \"C\" long __dso_handle __attribute__((visibility(\"hidden\")));\nstatic __attribute__((used)) long f() { "
         "return "
         "++__dso_handle; }\n",
         "host code calls '__dso_handle', which only the compiler's own code may"},
        {"#include <cstdio>\n__global__ void c(int n) { if (n > 3) printf(\"%d\\n\", n); }\n", "device code calls printf"},
        {"__global__ void c(void **p) { *p = malloc(4); }\n", "device code calls malloc"},
        {"#include <stdio.h>\nstatic __attribute__((used)) void f() { puts(\"\"); }\n", "host code calls 'puts'"},
        {"static __attribute__((used)) void f() { float t; cudaEventElapsedTime(&t, 0, 0); }\n",
         "host code calls 'cudaEventElapsedTime"},
    };
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        struct ks_built *c;
        KS_AUTO_STR struct ks_str text = KS_STR_INIT, reason = KS_STR_INIT;
        ks_str_add(&text, baseline_text);
        ks_str_add(&text, variants[i].extra);
        c = build(text.data, "cand", false);
        CHECK(c && !ks_admission_check(&baseline->object, &c->object, &reason));
        CHECK_CONTAINS(ks_str_cstr(&reason), variants[i].reason);
        ks_built_free(c);
    }
}

/* At -O3 the stub of a kernel's instance becomes a part of the entry, with nvcc's guarded variable. */
TEST(a_stub_inside_of_the_entry_is_nvccs)
{
    static char *argv[] = {KSCC_CUDA_ROOT "/bin/nvcc", "-O3", "-std=c++14", "-c", "dir/unit.cu", NULL};
    static const char *const texts[] = {
        "#include <cuda_runtime.h>\n"
        "__global__ void k(float *y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 1; }\n"
        "void go(float *y, int n, cudaStream_t s) { k<<<1, 128, 0, s>>>(y, n); }\n",
        "#include <cuda.h>\n#include <cuda_runtime.h>\n"
        "template <int N> __global__ void k(const __grid_constant__ CUtensorMap map, float *y, int n)\n"
        "{ if (threadIdx.x < n) y[threadIdx.x] = ((const int *)&map)[threadIdx.x % N]; }\n"
        "void go(float *y, int n, cudaStream_t s) { CUtensorMap m = {}; k<32><<<1, 128, 0, s>>>(m, y, n); }\n",
        "#include <cuda_runtime.h>\n"
        "static __global__ void never(float *y) { y[0] = 2; }\n"
        "__global__ void k(float *y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 1; }\n"
        "__attribute__((noinline)) static int __device_stub__Z5countv()\n"
        "{ static volatile bool __tmp; bool before = __tmp; __tmp = true; return before; }\n"
        "void go(float *y, int n, cudaStream_t s) { k<<<1, 128, 0, s>>>(y, n + __device_stub__Z5countv()); }\n"
        "void *keep() { return (void *)never; }\n",
    };
    struct ks_built *b[3] = {NULL};
    struct ks_err err;
    for (size_t i = 0; i < 3; i++) {
        struct ks_session_options o = {
            .unit_path = "dir/unit.cu", .nvcc_argv = argv, .input_index = 4, .arch = "sm_90a", .work_dir = work};
        CHECK_OK(ks_build_object(&o, texts[i], strlen(texts[i]), "stub", 120000, &b[i], NULL, &err));
    }
    if (b[0] && b[1] && b[2]) {
        KS_AUTO_STR struct ks_str reason = KS_STR_INIT;
        size_t inside = 0; /* uses of the stub's variables outside of it */
        const struct ks_object *o = &b[1]->object;
        for (size_t i = 0; i < o->n_relocs; i++) {
            const struct ks_symbol *from = ks_object_symbol_at(o, o->relocs[i].section, o->relocs[i].off_byte);
            inside += from && ks_streq(from->name, SYMBOL) &&
                      ks_str_starts(o->sections[o->symbols[o->relocs[i].symbol].section].name, ".bss");
        }
        CHECK(inside > 0); /* else this compiler shows nothing here */
        CHECK(ks_state_check(&b[0]->object, o, &reason));
        CHECK_STR(ks_str_cstr(&reason), "");
        b[1]->object.stubs_known = false; /* where the compiler's text is not known, it may be anybody's */
        CHECK(!ks_state_check(&b[0]->object, o, &reason));
        CHECK_CONTAINS(ks_str_cstr(&reason), "belongs to code of the compiler");
        CHECK(!b[2]->object.stubs_known);
        ks_str_clear(&reason);
        CHECK(!ks_host_text_check(b[0]->host_text, b[2]->host_text, &reason));
        CHECK_CONTAINS(ks_str_cstr(&reason), "__device_stub__Z5countv");
    }
    for (size_t i = 0; i < 3; i++)
        ks_built_free(b[i]);
}

TEST(a_compiler_error_names_the_users_line)
{
    static char *argv[] = {KSCC_CUDA_ROOT "/bin/nvcc", "-std=c++14", "-c", "dir/unit.cu", NULL};
    struct ks_session_options o = {
        .unit_path = "dir/unit.cu", .nvcc_argv = argv, .input_index = 3, .arch = "sm_90a", .work_dir = work};
    const char *text = "__global__ void k() {}\nint broken = ;\n";
    struct ks_built *b = NULL;
    struct ks_err err;
    CHECK_INT(ks_build(&o, text, strlen(text), "bad", 60000, &b, NULL, &err), KS_ERR_BUILD);
    CHECK_CONTAINS(err.message, "dir/unit.cu(2): error");
}

TEST(flags_keep_what_matters)
{
    static char *argv[] = {"nvcc",
                           "-O3",
                           "-gencode",
                           "arch=compute_80,code=sm_80",
                           "-arch=sm_80",
                           "-DN=4",
                           "a.cu",
                           "-o",
                           "a.o",
                           "-rdc=true",
                           "--use_fast_math",
                           "-MF",
                           "a.d",
                           NULL};
    struct ks_session_options o = {.nvcc_argv = argv, .input_index = 6};
    struct ks_args a;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_args_init(&a);
    ks_build_flags(&o, &a);
    ks_args_quote(&text, a.v);
    CHECK_STR(text.data, "-O3 -DN=4 --use_fast_math");
    ks_args_release(&a);
}

TEST(no_object_is_a_clear_error)
{
    struct ks_object o;
    struct ks_err err;
    CHECK_INT(ks_object_read("/dev/null", &o, &err) != KS_OK, 1);
    CHECK_INT(ks_object_read("/bin/true", &o, &err), KS_ERR_SYNTAX);
    ks_built_free(baseline);
    CHECK_OK(ks_dir_remove(work, &err));
    free(work);
}

TEST_MAIN
