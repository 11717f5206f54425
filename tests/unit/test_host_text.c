/* What the admission gate reads in the host compiler's preprocessed text. */
#include "harness/host_text.h"
#include "test.h"

/* The constructs of a text that are not passed over, one a line. */
static void scan(const char *text, struct ks_str *out)
{
    struct ks_host_text h;
    ks_host_text_scan(text, strlen(text), "unit.cu", &h);
    ks_str_add(out, "");
    for (size_t i = 0; i < h.remarkable.n; i++)
        ks_str_addf(out, "%s%s", i ? "\n" : "", h.remarkable.v[i]);
    ks_host_text_release(&h);
}

static void expect(const char *text, const char *kept)
{
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    scan(text, &out);
    CHECK_STR(out.data, kept);
}

TEST(assembly_is_kept_wherever_it_stands)
{
    expect("void f() { asm volatile(\"nop\"); }", "asm volatile ( \"nop\" )");
    expect("asm(\"ret\");", "asm ( \"ret\" )");
    expect("void f(int x) { if (x) asm(\"syscall\"); }", "asm ( \"syscall\" )");
    expect("void f(int x) { if constexpr (1) __asm(\"syscall\"); }", "__asm ( \"syscall\" )");
    expect("void f(int x) { __attribute__((x)) asm(\"att\"); }", "asm ( \"att\" )");
    expect("int a; asm(\"no\" \"p\" : : \"r\"(a));", "asm ( \"no\" \"p\" : : \"r\" ( a ) )");
    expect("asm goto(\"jmp %l0\" : : : : out);", "asm goto ( \"jmp %l0\" : : : : out )");
    expect("asm", "asm");
}

TEST(literals_and_line_markers_hide_nothing_and_are_nothing)
{
    expect("const char *s = \"asm(\\\"nop\\\")\"; char c = '\"'; asm(\"x\");", "asm ( \"x\" )");
    expect("auto s = R\"x(asm(\"nop\"))x\"; asm(\"x\");", "asm ( \"x\" )");
    expect("auto s = u8R\"(\")\" ; asm(\"x\");", "asm ( \"x\" )");
    expect("long n = 1'000'000; asm(\"x\"); char c = 'a';", "asm ( \"x\" )");
    expect("# 12 \"asm.h\" 3\nint asmx, _asm;\n# 1 \"it's\"\nasm(\"x\");", "asm ( \"x\" )");
    expect("const char *s = \"not closed\nasm(\"x\");", "asm ( \"x\" )");
}

TEST(what_headers_and_the_compiler_have_is_passed_over)
{
    expect("void f() { asm volatile(\"\" : : : \"memory\"); asm(\"\"); }", "");
    expect("extern int scanf(const char *f, ...) __asm__ (\"\" \"__isoc99_scanf\") noexcept(true);", "");
    expect("extern \"C++\" char *basename(char *f) noexcept(true) __asm__(\"basename\");", "");
    expect("static __typeof__(sched_yield) __gthrw_sched_yield __asm__(\"sched_yield\");", "");
    expect("extern wint_t __btowc_alias(int c) __asm__(\"btowc\");", "");
    expect("asm(\n\".section .nv_fatbin, \\\"a\\\"\\n\"\n\".align 8\\n\"\n\"fatbinData:\\n\"\n\".quad 0x00100001ba55ed50, "
           "0x1\\n\"\n\".text\\n\");",
           "");
}

TEST(an_assertion_names_its_function_and_nothing_else_may)
{
#define OWN(text) "# 1 \"unit.cu\"\n" text
    expect(OWN("void f(int n) { ((n > 0) ? void (0) : __assert_fail (\"n > 0\", \"unit.cu\", 3, __extension__ "
               "__PRETTY_FUNCTION__)); }"),
           "");
    expect(
        OWN("void f(int n) { ((n > 0) ? void (0) : __assert_fail (\"n > 0\", __builtin_FILE (), __builtin_LINE (), __extension__ "
            "__PRETTY_FUNCTION__)); }"),
        "");
    expect(OWN("const char *f() { return __builtin_FILE(); }"), "__builtin_FILE");
    expect(OWN("void f() { __assert_fail(\"n\", look(__builtin_FILE()), 3, __extension__ __PRETTY_FUNCTION__); }"),
           "__builtin_FILE\n__PRETTY_FUNCTION__");
    expect(OWN("const char *f() { return __PRETTY_FUNCTION__; }"), "__PRETTY_FUNCTION__");
    expect(OWN("void f() { look(\"n\", \"unit.cu\", 3, __extension__ __PRETTY_FUNCTION__); }"), "__PRETTY_FUNCTION__");
    expect(OWN("void f() { __assert_fail(x, \"unit.cu\", 3, __extension__ __PRETTY_FUNCTION__); }"), "__PRETTY_FUNCTION__");
    expect(OWN("__extension__ __PRETTY_FUNCTION__)"), "__PRETTY_FUNCTION__");
    expect(OWN("void f() { int v[3] __attribute__((uninitialized)); }"), "uninitialized");
    expect(OWN("__attribute__((optimize(\"x\"))) void f();"), "optimize");
}

TEST(what_only_looks_like_it_is_kept)
{
    expect("void f(int x) { if (x) ; else asm(\"rdtsc\"); }", "asm ( \"rdtsc\" )");
    expect("static __typeof__(nanosleep) sleep asm(\"nanosleep\");", "asm ( \"nanosleep\" )");
    expect("asm(\".section .nv_fatbin, \\\"a\\\"\\nfatbinData:\\n.quad 0x1\\n.text\\nsyscall\\n\");",
           "asm ( \".section .nv_fatbin, \\\"a\\\"\\nfatbinData:\\n.quad 0x1\\n.text\\nsyscall\\n\" )");
    expect("extern int harmless(int) __asm__(\"cudaGetDriverEntryPoint\");", "__asm__ ( \"cudaGetDriverEntryPoint\" )");
    expect("#pragma omp f(x)\nasm(\"syscall\");", "asm ( \"syscall\" )");
    expect("register long r __asm__(\"rbx\");", "__asm__ ( \"rbx\" )");
    expect("asm(u8\"\" \"nop\");", "asm ( u8\"\" \"nop\" )");
    expect("int f(int) asm(\"f; syscall\");", "asm ( \"f; syscall\" )");
}

TEST(assembly_in_functions_of_headers_that_nobody_calls_is_none)
{
#define HEADER                                                                                                                   \
    "# 1 \"h.h\" 3\n__attribute((__gnu_inline__, __always_inline__)) extern inline unsigned\n"                                   \
    "_pconfig_u32(const unsigned l) { enum e { A = 1 }; if (!(0)) { asm(\"pconfig\"); } else { switch (l) { case 1U: "           \
    "asm(\"pconfig\" : : \"a\"(l)); } } return 0; }\n"
    expect(HEADER OWN("int x;"), "");
    expect(HEADER OWN("int x = _pconfig_u32(1);"), "asm ( \"pconfig\" )\nasm ( \"pconfig\" : : \"a\" ( l ) )");
    expect("# 1 \"h.h\" 3\ninline unsigned f() { asm(\"pconfig\"); }\n", "asm ( \"pconfig\" )");
    expect(OWN("__attribute((__gnu_inline__)) extern inline int f() { asm(\"nop\"); }"), "asm ( \"nop\" )");
}

TEST(what_threads_and_processors_keep_is_not_named)
{
    expect(OWN("void *p = __builtin_thread_pointer();"), "__builtin_thread_pointer");
    expect(OWN("void f(void *p) { __cxa_begin_catch(p); }"), "__cxa_begin_catch");
    expect(OWN("void *f(void *) __asm__(\"__cxa_begin_catch\");"), "__asm__ ( \"__cxa_begin_catch\" )");
    expect(OWN("register long r15 __asm__(\"r15\");"), "__asm__ ( \"r15\" )");
    expect(OWN("void f() { _mm_setcsr(_mm_getcsr() | 1); __builtin_ia32_fxsave64(p); _MM_SET_EXCEPTION_STATE(0); }"),
           "_mm_setcsr\n_mm_getcsr\n__builtin_ia32_fxsave64\n_MM_SET_EXCEPTION_STATE");
    expect("# 1 \"xmmintrin.h\" 3\ninline unsigned _mm_getcsr() { return __builtin_ia32_stmxcsr(); }", "");
}

TEST(stubs_of_kernels_are_nvccs_to_write)
{
    expect(OWN("void k(float *a) {__device_stub__Z1kPf(a);}"), "");
    expect(OWN("static int __device_stub__Z1kPf(float *a) { static bool __tmp; return __tmp = !__tmp; }"),
           "__device_stub__Z1kPf");
    expect(OWN("auto f = __device_stub__Z1kPf;"), "__device_stub__Z1kPf");
    expect("# 1 \"unit.cudafe1.stub.c\"\nstatic void __device_stub__Z1kPf(float *a) { }\n", "");
}

TEST(a_device_is_asked_how_it_works_and_not_which_it_is)
{
    expect(OWN("int f(int d) { int v; cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, d); return v; }"), "");
    expect(OWN("void f(int *v) { cudaDeviceGetAttribute(g(v, 1), cudaDeviceAttr::cudaDevAttrWarpSize, 0); }"), "");
    expect(OWN("void f(int *v) { cudaDeviceGetAttribute(v, cudaDevAttrPciBusId, 0); }"),
           "cudaDeviceGetAttribute ( v , cudaDevAttrPciBusId , 0 )");
    expect(OWN("void f(int *v) { cudaDeviceGetAttribute(v, (cudaDeviceAttr)33, 0); }"),
           "cudaDeviceGetAttribute ( v , ( cudaDeviceAttr ) 33 , 0 )");
    expect(OWN("auto f = &cudaDeviceGetAttribute;"), "cudaDeviceGetAttribute");
    expect(OWN("bool f(cudaDeviceProp *p) { return p->name[0] == 'N' || p->pciBusID; }"), "> name\npciBusID");
    expect(OWN("bool f(struct item *p) { return p->name[0] == 'N'; }"), "");
}

TEST(the_driver_is_asked_by_names_written_out)
{
    expect("cudaGetDriverEntryPointByVersion(\"cuTensorMapEncodeTiled\", &f, 12000, 0, &r);", "");
    expect("extern cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **f);", "");
    expect("cudaGetDriverEntryPoint(\"cuModuleLoad\", &f);", "cudaGetDriverEntryPoint ( \"cuModuleLoad\" ,");
    expect("cudaGetDriverEntryPoint(\"cuTensorMapEncodeTiled\" + n, &f);",
           "cudaGetDriverEntryPoint ( \"cuTensorMapEncodeTiled\" +");
    expect("cudaGetDriverEntryPoint(name, &f);", "cudaGetDriverEntryPoint ( name ,");
    expect("auto g = &cudaGetDriverEntryPoint;", "cudaGetDriverEntryPoint ;");
    expect("int g() __attribute__((weakref(\"cudaGetDriverEntryPoint\")));", "\"cudaGetDriverEntryPoint\" ) ) )");
    expect("#pragma weak g = cudaGetDriverEntryPoint\nint x;", "cudaGetDriverEntryPoint \n int x");
}

TEST(a_candidate_may_have_what_the_original_has)
{
    struct ks_host_text a, b;
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    const char original[] = "asm(\"nop\"); cudaGetDriverEntryPoint(name, &f);",
               more[] = "asm( \"nop\" );\nasm(\"rdtsc\"); asm volatile(\"pause\" : : );";
    ks_host_text_scan(original, strlen(original), "unit.cu", &a);
    ks_host_text_scan(more, strlen(more), "unit.cu", &b);
    CHECK(ks_host_text_check(&a, &a, &why));
    CHECK(!ks_host_text_check(&a, &b, &why));
    CHECK_STR(why.data, "host code has assembly that the original has not: asm ( \"rdtsc\" )");
    ks_host_text_release(&a);
    ks_host_text_release(&b);
}

TEST(words_that_look_around_are_kept_on_the_units_own_lines)
{
    expect("# 1 \"unit.cu\"\nvoid *f() { return __builtin_frame_address(0); }", "__builtin_frame_address");
    expect("# 1 \"/usr/include/c++/12/functional\" 3\nauto &f() { return typeid(int); }", "");
    expect("# 1 \"unit.cu\"\n# 1 \"a.h\" 1 3\nint typeid;\n# 2 \"unit.cu\" 2\nint n = typeid;", "typeid");
    expect("# 1 \"unit.cu\"\nint frame_address, my_typeid; const char *s = \"typeid\";", "");
}

static bool renames(const char *text)
{
    return ks_host_text_renames(text, strlen(text));
}

TEST(lines_that_give_themselves_another_name_are_seen)
{
    CHECK(renames("#line 7 \"x\"\n"));
    CHECK(renames("int a;\n  # 1 \"/usr/include/x.h\" 3\n"));
    CHECK(renames("/* a */ # /* b */ 1 \"x\"\n"));
    CHECK(renames("#\\\nline 3\n"));
    CHECK(renames("%: 3 \"x\"\n"));
    CHECK(renames("/*\n*/ #line 3\n"));
    CHECK(!renames("// #line 7\n"));
    CHECK(!renames("/*\n#line 7\n*/\n"));
    CHECK(!renames("#define line 7\n#lines\n#include <a>\nint x = 1; // # 1\n"));
    CHECK(!renames("const char *s = \"\\\"/*\"; char c = '\"';\n#if 1\n"));
}

TEST_MAIN
