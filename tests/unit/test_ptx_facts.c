/* What the compiler made of a kernel, read from its PTX, and where a call stands under the roofline. */

#include "tests/unit/test.h"

#include "harness/ptx_facts.h"
#include "harness/roofline.h"

#include <math.h>
#include <string.h>

static const char ptx[] = ".version 8.7\n.target sm_90a\n.address_size 64\n"
                          ".func (.param .b32 r) helper() { ret; }\n"
                          ".visible .entry _Z1kPf(.param .u64 p)\n"
                          ".maxntid 256, 1, 1\n.minnctapersm 8\n"
                          "{\n"
                          ".local .align 4 .b8 depot[64];\n"
                          ".reg .f32 %f<9>; .reg .f64 %d<4>; .reg .b64 %rd<4>; .reg .b32 %r<9>;\n"
                          "ld.param.u64 %rd1, [p];\n"
                          "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\n"
                          "ld.global.nc.f32 %f5, [%rd1+16];\n"
                          "st.global.f32 [%rd1], %f5;\n"
                          "st.local.f32 [depot], %f5;\n"
                          "add.f64 %d1, %d2, %d3;\n"
                          "rem.u32 %r1, %r2, %r3;\n"
                          "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
                          "{%f1,%f2,%f3,%f4};\n"
                          "{ .param .b32 r; call.uni (r), helper, (); }\n"
                          "ret;\n}\n"
                          ".visible .entry plain() { ret; }\n";

TEST(kernels_of_a_profile_get_what_the_ptx_says)
{
    KS_AUTO_JSON struct ks_json *kernels = ks_json_array();
    struct ks_json *k = ks_json_object();
    ks_json_set_str(k, "name", "_Z1kPf");
    ks_json_set_i64(k, "launches", 1);
    ks_json_push(kernels, k);
    ks_ptx_facts_add(kernels, ptx, strlen(ptx));
    CHECK_INT(ks_json_len(kernels), 2);
    CHECK_INT(ks_json_get_i64(ks_json_at(kernels, 0), "launches", 0), 1);
    const struct ks_json *f = ks_json_get(ks_json_at(kernels, 0), "ptx");
    static const struct {
        const char *name;
        int64_t value;
    } expected[] = {{"loads", 2},
                    {"vector_loads", 1},
                    {"widest_load_bytes", 16},
                    {"stores", 1},
                    {"vector_stores", 0},
                    {"local_bytes", 64},
                    {"local_accesses", 1},
                    {"tensor", 1},
                    {"fp64", 1},
                    {"integer_divisions", 1},
                    {"calls", 1},
                    {"max_threads", 256},
                    {"min_blocks", 8}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (ks_json_get_i64(f, expected[i].name, -1) != expected[i].value) {
            printf("%s\n", expected[i].name);
            CHECK_INT(ks_json_get_i64(f, expected[i].name, -1), expected[i].value);
        }
    CHECK_STR(ks_json_get_str(ks_json_at(kernels, 1), "name", ""), "plain");
    CHECK_INT(ks_json_get_i64(ks_json_get(ks_json_at(kernels, 1), "ptx"), "max_threads", -1), 0);
}

TEST(ptx_that_cannot_be_read_adds_nothing)
{
    KS_AUTO_JSON struct ks_json *kernels = ks_json_array();
    ks_ptx_facts_add(kernels, "no PTX {", 8);
    ks_ptx_facts_add(kernels, "", 0);
    CHECK_INT(ks_json_len(kernels), 0);
}

/* 4 + 4 MiB over 4800 GB/s are 1747.6 ns; 2^20 fp32 operations over 132 x 128 x 2 x 1.98 GFLOP/s are 15.7. */
TEST(a_call_stands_under_the_roofline_of_its_device)
{
    static const char text[] = "// kscc: entry scale\n// kscc: dims n=1..1048576\n// kscc: in x : float[n]\n"
                               "// kscc: out y : float[n]\n// kscc: scratch t : float[n]\n// kscc: time n=1048576\n"
                               "void scale(const float *x, float *y, float *t, int n);\n";
    struct ks_arena arena;
    struct ks_diags diags;
    struct ks_contract *c;
    struct ks_err err;
    size_t n;
    ks_arena_init(&arena);
    ks_diags_init(&diags);
    CHECK_OK(ks_contracts_parse("u.cu", text, strlen(text), &arena, &diags, &c, &n, &err));
    KS_AUTO_JSON struct ks_json *device = ks_json_object(), *kernels = ks_json_array();
    struct ks_json *k = ks_json_object();
    ks_json_set_str(device, "arch", "sm_90a");
    ks_json_set_num(k, "flops_fp32", 1048576);
    ks_json_push(kernels, k);
    KS_AUTO_JSON struct ks_json *r = ks_roofline(c, &c->times[0].shape, device, kernels, 17476);
    CHECK(r != NULL);
    CHECK(fabs(ks_json_get_num(r, "memory_ns", 0) - 1747.6) < 0.1);
    CHECK(fabs(ks_json_get_num(r, "compute_ns", 0) - 15.67) < 0.01);
    CHECK(fabs(ks_json_get_num(r, "reached", 0) - 0.1) < 1e-4);
    CHECK(fabs(ks_json_get_num(r, "intensity", 0) - 0.125) < 1e-9);
    CHECK_STR(ks_json_get_str(r, "bound", ""), "memory");
    CHECK_STR(ks_json_get_str(ks_json_get(r, "ceiling"), "board", ""), "H200");
    ks_json_set_str(device, "arch", "sm_1");
    CHECK(ks_roofline(c, &c->times[0].shape, device, kernels, 1) == NULL);
    ks_diags_release(&diags);
    ks_arena_release(&arena);
}

TEST_MAIN
