/* What Nsight Compute counted on an H200 (tests/unit/ncu_h200.csv: host and process left out) becomes the evidence that the
 * emulated device's counters do. */

#include "tests/unit/test.h"

#include "analyzer/hypothesis.h"
#include "analyzer/ncu.h"
#include "tests/unit/facts_util.h"

#include <math.h>

static struct ks_json *recorded(void)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_json *profile = NULL;
    struct ks_err err;
    CHECK_OK(ks_file_read(KSCC_SOURCE_DIR "/tests/unit/ncu_h200.csv", KS_MAX_SOURCE_BYTES, &text, &err));
    CHECK(ks_ncu_is_csv(ks_str_cstr(&text)));
    CHECK_OK(ks_ncu_read(ks_str_cstr(&text), &profile, &err));
    return profile;
}

static const struct ks_json *kernel(const struct ks_json *profile, const char *name)
{
    const struct ks_json *list = ks_json_get(profile, "kernels");
    for (size_t i = 0; i < ks_json_len(list); i++)
        if (ks_streq(ks_json_get_str(ks_json_at(list, i), "name", ""), name))
            return ks_json_at(list, i);
    return NULL;
}

/* The counts are those of docs/results/counters_h200.tsv, which another run made. */
TEST(counters_have_the_names_and_values_of_the_emulated_device)
{
    KS_AUTO_JSON struct ks_json *p = recorded();
    static const struct {
        const char *kernel, *counter;
        double value;
    } expected[] = {{"copy", "global_load_requests", 32768},
                    {"copy", "global_load_sectors", 131072},
                    {"copy", "global_load_bytes_requested", 4194304},
                    {"copy", "warp_insts", 524288},
                    {"copy", "measured_ns", 4864},
                    {"copy_stride", "global_load_sectors", 2097152},
                    {"copy_stride", "global_store_sectors", 262144},
                    {"transpose_plain", "global_store_sectors", 4194304},
                    {"transpose_conflict", "shared_conflicts", 4085002 + 11015},
                    {"transpose_conflict", "shared_load_requests", 131072}};
    CHECK_STR(ks_json_get_str(ks_json_get(p, "device"), "arch", ""), "sm_90");
    CHECK_INT(ks_json_len(ks_json_get(p, "kernels")), 12);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        CHECK_NEAR(ks_json_get_num(kernel(p, expected[i].kernel), expected[i].counter, -1), expected[i].value, 0);
    const struct ks_json *measured = ks_json_get(kernel(p, "copy_stride"), "measured");
    CHECK_NEAR(ks_json_get_num(ks_json_get(measured, "terms"), "dram_ns", 0), 0.7999 * 18944, 0.1);
}

static double evidence(const struct ks_hypotheses *h, enum ks_layer layer, const char *kernel_name, const char *key)
{
    for (size_t i = 0; i < h->n; i++)
        for (size_t k = 0; h->data[i].layer == layer && strcmp(h->data[i].kernel, kernel_name) == 0 && k < h->data[i].n_evidence;
             k++)
            if (strcmp(h->data[i].evidence[k].key, key) == 0)
                return h->data[i].evidence[k].value;
    return NAN;
}

TEST(they_become_the_same_evidence)
{
    static const char text[] =
        "__global__ void copy_stride(const float *x, float *y, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[8 * i]; }\n"
        "__global__ void transpose_conflict(const float *x, float *y, int n) {\n"
        "    __shared__ float t[32][32];\n"
        "    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;\n"
        "    t[threadIdx.y][threadIdx.x] = x[r * n + c]; __syncthreads();\n"
        "    y[(blockIdx.x * 32 + threadIdx.y) * n + blockIdx.y * 32 + threadIdx.x] = t[threadIdx.x][threadIdx.y]; }\n";
    KS_AUTO_JSON struct ks_json *p = recorded();
    struct unit u;
    struct ks_hypotheses h;
    unit_parse(&u, text);
    CHECK_INT(u.code, KS_OK);
    ks_hypotheses_derive(u.facts, NULL, 0, p, &u.arena, &h);
    /* 8 MiB in 64 + 8 MiB of sectors */
    CHECK_NEAR(evidence(&h, KS_LAYER_MEMORY_ACCESS, "copy_stride", "sector_efficiency"), 16.0 / 72, 1e-3);
    CHECK_NEAR(evidence(&h, KS_LAYER_MEMORY_ACCESS, "transpose_conflict", "shared_conflicts_per_request"), 15.62, 0.01);
    CHECK(evidence(&h, KS_LAYER_MEMORY_ACCESS, "transpose_conflict", "share_if_free") > 0.2);
    unit_release(&u);
}

TEST(lines_for_each_metric_units_and_several_launches_are_understood)
{
    static const char head[] =
        "==PROF== Connected\n\"ID\",\"Kernel Name\",\"CC\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *p = NULL;
    struct ks_err err;
    ks_str_addf(&text,
                "%s\"0\",\"void k<float>(float *, \"\"x\"\")\",\"10.0\",\"gpu__time_duration.sum\",\"us\",\"1,250.5\"\n"
                "\"0\",\"void k<float>(float *)\",\"10.0\",\"dram__bytes_read.sum\",\"Kbyte\",\"2\"\r\n"
                "\"1\",\"void k<float>(float *)\",\"10.0\",\"dram__bytes_read.sum\",\"Kbyte\",\"3\"\n"
                "\"1\",\"void k<float>(float *)\",\"10.0\",\"smsp__inst_executed.sum\",\"inst\",\"n/a\"\n",
                head);
    CHECK_OK(ks_ncu_read(ks_str_cstr(&text), &p, &err));
    CHECK_STR(ks_json_get_str(ks_json_get(p, "device"), "arch", ""), "sm_100");
    const struct ks_json *k = kernel(p, "k");
    CHECK(k != NULL);
    CHECK_NEAR(ks_json_get_num(k, "measured_ns", 0), 1250500, 0.5);
    CHECK_NEAR(ks_json_get_num(k, "l2_unique_read_bytes", 0), 5000, 0);
    CHECK_NEAR(ks_json_get_num(k, "launches", 0), 2, 0);
    CHECK(!ks_json_get(k, "warp_insts"));
}

TEST(a_file_without_a_known_metric_is_said)
{
    struct ks_json *p = NULL;
    struct ks_err err;
    CHECK_INT(ks_ncu_read("\"ID\",\"Kernel Name\",\"x\"\n\"\",\"\",\"\"\n\"0\",\"k\",\"1\"\n", &p, &err), KS_ERR_SYNTAX);
    CHECK_INT(ks_ncu_read("", &p, &err), KS_ERR_SYNTAX);
    CHECK_INT(ks_ncu_read("\"ID\",\"\"\"", &p, &err), KS_ERR_SYNTAX);
    CHECK(p == NULL && !ks_ncu_is_csv("{\"kernels\": []}"));
    KS_AUTO_STR struct ks_str metrics = KS_STR_INIT;
    ks_ncu_metrics(&metrics);
    size_t n = 1;
    for (const char *c = ks_str_cstr(&metrics); *c; c++)
        n += *c == ',';
    CHECK(n <= 40);
}

TEST_MAIN
