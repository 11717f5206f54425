/* Planted faults of tcgen_faults.cu: each is found, by its kind and in the line marked FAULT; the kernel without one is not
 * accused. */

#include "harness/emulated/tensor_map.h"
#include "tests/emulated/findings_test.h"

static uint16_t a[128 * 64], b[8 * 16];

static enum ks_code run(const char *name, unsigned threads)
{
    struct ks_emu_tensor_map map __attribute__((aligned(64)));
    void *da = upload(a, sizeof(a), "a"), *db = upload(b, sizeof(b), "b"), *dd = upload(NULL, 128 * 4, "d");
    if (ks_emu_tensor_map_encode(&map, KS_EMU_MAP_F16, 2, da, (uint64_t[]){64, 128}, (uint64_t[]){128}, (uint32_t[]){64, 128},
                                 (uint32_t[]){1, 1}, 0, KS_EMU_SWIZZLE_128B, 0, 0, &err) != KS_OK)
        exit(2);
    enum ks_code code = launch(name, 1, threads, 32768, &da, &db, &dd, &map);
    drop(da);
    drop(db);
    drop(dd);
    return code;
}

static void planted(const char *kernel, enum ks_code want, const char *kind)
{
    enum ks_code got = run(kernel, ks_str_starts(kernel, "two_") ? 256 : 128);
    struct ks_json *all = ks_emu_findings(dev);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    bool there = false;
    for (size_t i = 0; i < ks_json_len(all); i++) {
        const struct ks_json *f = ks_json_at(all, i);
        there |= ks_streq(ks_json_get_str(f, "kind", ""), kind) && ks_streq(ks_json_get_str(f, "kernel", ""), kernel) &&
                 (ks_streq(kind, "deadlock") || ks_json_get_i64(f, "line", 0) == line_of(kernel, "FAULT"));
    }
    ks_json_print(all, &text);
    verdict(got == want, kernel, "launch gives %s (%s), expected %s", ks_code_name(got), err.message, ks_code_name(want));
    verdict(there, kernel, "no '%s' in line %d: %s", kind, line_of(kernel, "FAULT"), ks_str_cstr(&text));
    if (ks_streq(kind, "deadlock")) { /* the text says where who waits */
        char line[32];
        (void)snprintf(line, sizeof(line), "line %d ", line_of(kernel, "FAULT"));
        verdict(strstr(ks_str_cstr(&text), line) != NULL, kernel, "no '%s' in %s", line, ks_str_cstr(&text));
    }
    ks_json_free(all);
    ks_emu_findings_clear(dev);
}

int main(int argc, char **argv)
{
    struct ks_emu_config config = {.arch = "sm_100a", .checks = KS_EMU_CHECK_ALL, .n_threads = 1};
    if (argc < 3 || !read_source(argv[2]))
        return 2;
    start_device(&config, argv[1]);
    for (size_t i = 0; i < sizeof(a) / 2; i++)
        a[i] = (uint16_t)(0x3c00 + i % 7);
    for (size_t i = 0; i < sizeof(b) / 2; i++)
        b[i] = (uint16_t)(0x3800 + i % 5);
#define F(kernel, code, kind) planted(#kernel, code, kind);
#include "tests/emulated/faults.def"
#undef F
    for (config.seed = 0; config.seed < 4; config.seed++) {
        ks_emu_configure(dev, &config);
        expect("no_fault", run("no_fault", 256), KS_OK, NULL, NULL, NULL);
    }
    return finish();
}
