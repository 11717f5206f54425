/* Each kernel of core_findings.cu gives exactly the finding it was written for, with kernel, thread, line and (races) both
 * parties; the good ones none. */

#include "tests/emulated/findings_test.h"

static void test_all(void)
{
    int n = 64;
    static float ones[1024];
    float *a = upload(ones, 256, "a"), *o = upload(ones, 4096, "o"), *fresh = upload(NULL, 256, "fresh"), *null = NULL;
    expect("bad_bounds", launch("bad_bounds", 1, 128, 0, &a, &n), KS_ERR_DEVICE, "out-of-bounds", "a[i] = i", "a");
    expect("good_bounds", launch("good_bounds", 1, 128, 0, &a, &n), KS_OK, NULL, NULL, NULL);
    expect("bad_bounds_read", launch("bad_bounds_read", 1, 64, 0, &a, &o, &n), KS_ERR_DEVICE, "out-of-bounds", "a[i - 1]", NULL);
    expect("bad_null", launch("bad_null", 1, 1, 0, &null), KS_ERR_DEVICE, "out-of-bounds", "a[0]", NULL);
    expect("bad_misaligned", launch("bad_misaligned", 1, 32, 0, &a, &o), KS_ERR_DEVICE, "misaligned", "*(const float", "a");
    expect("bad_shared_bounds", launch("bad_shared_bounds", 1, 64, 256, &o), KS_ERR_DEVICE, "out-of-bounds", "s[threadIdx.x + 1]",
           NULL);
    int k = 0;
    expect("bad_local_bounds", launch("bad_local_bounds", 1, 32, 0, &o, &k), KS_ERR_DEVICE, "out-of-bounds", "v[k + 4096]", NULL);
    float *gone = upload(ones, 256, "gone");
    drop(gone);
    expect("good_bounds", launch("good_bounds", 1, 64, 0, &gone, &n), KS_ERR_DEVICE, "use-after-free", "a[i] = i", "gone");
    expect("bad_uninit_global", launch("bad_uninit_global", 1, 64, 0, &fresh, &o), KS_OK, "uninitialised", "a[threadIdx.x]",
           "fresh");
    expect("bad_uninit_global", launch("bad_uninit_global", 1, 64, 0, &a, &o), KS_OK, NULL, NULL, NULL);
    ks_emu_poison(dev, (char *)a + 255, 1, 0xffffffff);
    expect("bad_uninit_global", launch("bad_uninit_global", 1, 64, 0, &a, &o), KS_OK, "uninitialised", "a[threadIdx.x]", "a");
    expect("bad_uninit_shared", launch("bad_uninit_shared", 1, 64, 0, &o), KS_OK, "uninitialised", "s[63] was", NULL);
    expect("good_shared", launch("good_shared", 2, 64, 0, &o), KS_OK, "global-race", NULL, "o");
    expect("good_shared", launch("good_shared", 1, 64, 0, &o), KS_OK, NULL, NULL, NULL);
    expect("bad_uninit_local", launch("bad_uninit_local", 1, 32, 0, &o, &k), KS_OK, "uninitialised", "v[(k + 5)", NULL);
    expect("bad_shared_race", launch("bad_shared_race", 1, 64, 0, &o), KS_OK, "shared-race", NULL, NULL);
    expect("bad_shared_war", launch("bad_shared_war", 1, 64, 0, &o), KS_OK, "shared-race", NULL, NULL);
    expect("bad_warp_race", launch("bad_warp_race", 1, 32, 0, &o), KS_OK, "shared-race", NULL, NULL);
    expect("good_warp", launch("good_warp", 1, 32, 0, &o), KS_OK, NULL, NULL, NULL);
    expect("bad_same_store", launch("bad_same_store", 1, 32, 0, &o), KS_OK, "shared-race", "s = threadIdx.x", NULL);
    expect("good_same_store", launch("good_same_store", 1, 64, 0, &o), KS_OK, NULL, NULL, NULL);
    expect("bad_global_race", launch("bad_global_race", 3, 64, 0, &o), KS_OK, "global-race", "a[threadIdx.x]", "o");
    expect("bad_global_race_block", launch("bad_global_race_block", 1, 64, 0, &o, &fresh), KS_OK, "global-race", NULL, "o");
    expect("bad_atomic_mix", launch("bad_atomic_mix", 2, 64, 0, &o), KS_OK, "global-race", NULL, "o");
    expect("good_atomics", launch("good_atomics", 2, 64, 0, &o), KS_OK, NULL, NULL, NULL);
    expect("good_bytes", launch("good_bytes", 2, 64, 0, &o), KS_OK, NULL, NULL, NULL);
    expect("bad_barrier", launch("bad_barrier", 1, 64, 0, &o), KS_OK, "divergent-barrier", NULL, NULL);
    expect("bad_barrier_around", launch("bad_barrier_around", 1, 64, 0, &o), KS_OK, "divergent-barrier", NULL, NULL);
    n = 40;
    expect("good_barrier_return", launch("good_barrier_return", 1, 64, 0, &o, &n), KS_OK, NULL, NULL, NULL);
    n = 64;
    expect("bad_deadlock", launch("bad_deadlock", 1, 64, 0, &o), KS_ERR_TIMEOUT, "deadlock", "bar.sync 1", NULL);
    /* what an unchecked launch wrote is not accused later */
    float *later = upload(NULL, 256, "later");
    struct ks_emu_config off = {.arch = "sm_90a", .checks = 0},
                         on = {.arch = "sm_90a", .checks = KS_EMU_CHECK_ALL, .max_warp_insts = 1000000};
    n = 64;
    ks_emu_configure(dev, &off);
    expect("good_bounds", launch("good_bounds", 1, 64, 0, &later, &n), KS_OK, NULL, NULL, NULL);
    ks_emu_configure(dev, &on);
    expect("bad_uninit_global", launch("bad_uninit_global", 1, 64, 0, &later, &o), KS_OK, NULL, NULL, NULL);
    int *flag = upload(ones, 4, "flag");
    expect("bad_hang", launch("bad_hang", 1, 32, 0, &flag), KS_ERR_TIMEOUT, "deadlock", "while (*flag == 0)", NULL);
    expect("bad_loop", launch("bad_loop", 1, 32, 0, &flag), KS_ERR_TIMEOUT, "hang", NULL, NULL);
    expect("bad_mask", launch("bad_mask", 1, 32, 0, &o), KS_OK, "sync-mask", "__shfl_sync", NULL);
    expect("bad_source", launch("bad_source", 1, 32, 0, &o), KS_OK, "shuffle-source", "__shfl_sync", NULL);
    expect("bad_async", launch("bad_async", 1, 32, 0, &a, &fresh), KS_OK, "async-pending", "+= s[1]", NULL);
    expect("good_async", launch("good_async", 1, 32, 0, &a, &fresh), KS_OK, NULL, NULL, NULL);
    expect("bad_trap", launch("bad_trap", 4, 32, 0, &o), KS_ERR_DEVICE, "trap", NULL, NULL);
    n = 10;
    expect("bad_assert", launch("bad_assert", 1, 1, 0, &n), KS_ERR_DEVICE, "assert", NULL, NULL);
    verdict(strstr(err.message, "n < 10") != NULL, "assert", "message is %s", err.message);
}

/* Launches the device must refuse. */
static void test_limits(void)
{
    float *o = upload(NULL, 4096, "o");
    int n = 1;
    verdict(launch("good_bounds", 1, 2048, 0, &o, &n) == KS_ERR_RANGE, "2048 threads", "%s", err.message);
    verdict(launch("good_bounds", 0, 32, 0, &o, &n) == KS_ERR_RANGE, "empty grid", "%s", err.message);
    verdict(launch("good_bounds", 1, 32, 300000, &o, &n) == KS_ERR_RANGE, "300000 bytes of shared memory", "%s", err.message);
    verdict(launch("no_such_kernel", 1, 32, 0, &o, &n) == KS_ERR_NOT_FOUND, "unknown kernel", "%s", err.message);
    static const char odd[] =
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<2>;\n"
        "multimem.red.relaxed.sys.global.add.u32 [%rd1], 1;\nret;\n}\n";
    struct ks_emu_module *m;
    struct ks_emu_func_info info;
    verdict(ks_emu_module_load(dev, odd, sizeof(odd) - 1, &m, &err) == KS_OK, "load of an unsupported kernel", "%s", err.message);
    verdict(ks_emu_func(m, "k", &info, &err) == KS_ERR_UNSUPPORTED &&
                strstr(err.message, "multimem.red.relaxed.sys.global.add.u32") && strstr(err.message, "ptx line 7"),
            "unsupported instruction", "%s", err.message);
    ks_emu_module_unload(dev, m);
}

int main(int argc, char **argv)
{
    if (argc != 3 || !read_source(argv[2])) {
        printf("usage: %s core_findings.ptx core_findings.cu\n", argv[0]);
        return 2;
    }
    struct ks_emu_config c = {.arch = "sm_90a", .checks = KS_EMU_CHECK_ALL, .max_warp_insts = 1000000};
    start_device(&c, argv[1]);
    test_all();
    test_limits();
    return finish();
}
