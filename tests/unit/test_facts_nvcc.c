/* What nvcc takes and clang does not, by cause: each is parsed, or known to be clang's own, or named with its place while the
 * rest of the unit is analysed. */

#include "tests/unit/test.h"

#include "tests/unit/facts_util.h"

static void print_diags(const struct unit *u)
{
    for (size_t i = 0; i < u->diags.n; i++)
        printf("%s:%u: %s\n", u->diags.data[i].file, u->diags.data[i].line, u->diags.data[i].message);
}

TEST(headers_and_words_that_nvcc_brings_along_are_there)
{
    struct unit u;
    unit_parse(&u, "#include <cooperative_groups.h>\n#include <cuda_fp16.h>\n#include <omp.h>\n"
                   "#if __CUDACC__ && __CUDACC_VER_MAJOR__ >= 12\n__managed__ int m;\n#endif\n"
                   "__global__ void host_names(float *x, float4 *v, int n) {\n"
                   "    x[0] = isfinite(x[1]) ? max(n, 2) : min(1.0f, x[2]);\n"
                   "    __stcs(x + 3, 1.0f); __stcg(v, v[1]); __stwt(x + 4, __ldcs(x + 5)); __stwb(x + 6, 0.0f);\n"
                   "    m = 1;\n"
                   "    cooperative_groups::this_cluster().sync();\n"
                   "}\n"
                   "long times(int n) { fprintf(stderr, \"%d\\n\", std::max(n, 1)); return clock() / CLOCKS_PER_SEC + "
                   "omp_get_max_threads(); }\n");
    CHECK_INT(u.code, KS_OK);
    print_diags(&u);
    CHECK_INT(u.diags.n, 0);
    CHECK(u.facts && u.facts->n_kernels == 1 && !u.facts->kernels[0].has_error);
    unit_release(&u);
}

TEST(errors_of_clang_alone_are_not_the_users)
{
    struct unit u;
    unit_parse(&u, "struct counted { int n; __device__ counted() : n(1) {} };\n"
                   "int host_only(int n);\n"
                   "__host__ __device__ int both(int n) { return host_only(n); }\n"
                   "static_assert(sizeof(long double) == 16, \"long double of the host\");\n"
                   "__global__ void k(int *x) {\n"
                   "    __shared__ counted c;\n"
                   "    extern __shared__ int dynamic[];\n"
                   "    x[threadIdx.x] = c.n + both(1) + dynamic[threadIdx.x];\n"
                   "}\n"
                   "__global__ void text(int *x) { asm volatile(\"// %0\" :: \"C\"(\"add\")); x[0] = 1; }\n"
                   "__global__ void rank(int *x) { int r; asm(\"mov.u32 %0, %clusterid.x;\" : \"=r\"(r)); x[0] = r; }\n"
                   "template <int N> __device__ void never(int x) { asm(\"mov.u32 %0, %5;\" :: \"r\"(x)); }\n"
                   "void lengths(int n) { int a[n] = {0}; (void)a; }\n");
    CHECK_INT(u.code, KS_OK);
    print_diags(&u);
    CHECK_INT(u.diags.n, 0);
    CHECK_INT(u.facts ? u.facts->n_kernels : 0, 3);
    CHECK(u.facts && !u.facts->kernels[2].has_error);
    const struct ks_kernel *k = u.facts ? ks_facts_kernel(u.facts, "k") : NULL;
    CHECK(k && !k->has_error && k->n_shared == 2);
    unit_release(&u);
}

TEST(relocatable_code_and_family_targets_parse)
{
    struct unit u;
    char *words[] = {(char *)"nvcc", (char *)"-rdc=true", (char *)"-arch=sm_100f", (char *)"-c", (char *)"unit.cu", NULL};
    unit_parse_words(&u, "unit.cu",
                     "extern __shared__ int one;\n"
                     "__global__ void child(int *x) { x[threadIdx.x] = one; }\n"
                     "__global__ void parent(int *x) { child<<<1, 32>>>(x); }\n",
                     words);
    CHECK_INT(u.code, KS_OK);
    print_diags(&u);
    CHECK_INT(u.diags.n, 0);
    CHECK_INT(u.facts ? u.facts->n_kernels : 0, 2);
    unit_release(&u);
}

TEST(a_friend_without_its_attributes_is_named_and_the_rest_analysed)
{
    struct unit u;
    unit_parse(&u, "struct number { float v; friend number twice(const number &n); };\n"
                   "__host__ __device__ number twice(const number &n) { return number{n.v * 2}; }\n"
                   "__global__ void hit(float *x) { x[0] = twice(number{x[1]}).v; }\n"
                   "__global__ void spared(float *x) { x[threadIdx.x] = 1; }\n");
    CHECK_INT(u.code, KS_OK);
    CHECK(u.diags.n > 0);
    CHECK(u.diags.n > 0 && u.diags.data[0].line >= 1 && ks_streq(u.diags.data[0].file, "unit.cu"));
    const struct ks_kernel *spared = u.facts ? ks_facts_kernel(u.facts, "spared") : NULL;
    CHECK(spared && !spared->has_error && spared->n_accesses == 1);
    unit_release(&u);
}

TEST_MAIN
