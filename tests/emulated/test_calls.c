/* Calls, recursion and clocks of calls_kernels.cu. */

#include "tests/emulated/emu_test.h"

static int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void test_recursion(void)
{
    static int got[64], data[32 * 40], back[32 * 40];
    static double powers[32];
    void *out = upload(NULL, 4096, "out");
    enum ks_code code = launch("recursion", 1, 64, 0, &out);
    int bad = -1;
    download(got, out, sizeof(got));
    for (int i = 0; i < 64 && bad < 0; i++)
        bad = got[i] != fib(i % 13) ? i : -1;
    verdict(code == KS_OK && bad < 0, "fib", "%s: lane %d gives %d", err.message, bad, got[bad < 0 ? 0 : bad]);
    code = launch("mutual", 1, 48, 0, &out);
    download(got, out, sizeof(got));
    bad = -1;
    for (int i = 0; i < 48 && bad < 0; i++)
        bad = got[i] != (i % 2 == 0) * 1000 + i + 1 ? i : -1;
    verdict(code == KS_OK && bad < 0, "mutual recursion", "%s: lane %d gives %d", err.message, bad, got[bad < 0 ? 0 : bad]);
    code = launch("powers", 1, 32, 0, &out);
    download(powers, out, sizeof(powers));
    double want = 1;
    bad = -1;
    for (int i = 0; i < 32; i++, want *= 1.5)
        bad = powers[i] != want ? i : bad;
    verdict(code == KS_OK && bad < 0, "recursion through a pointer", "%s: lane %d", err.message, bad);
    int n = 40;
    for (int i = 0; i < 32 * n; i++)
        data[i] = (int)((unsigned)i * 2654435761u >> 16);
    void *d = upload(data, sizeof(data), "data");
    code = launch("sorts", 1, 32, 0, &d, &n);
    download(back, d, sizeof(back));
    bool sorted = true;
    long sum = 0;
    for (int i = 0; i < 32 * n; i++) {
        sorted &= i % n == 0 || back[i - 1] <= back[i];
        sum += back[i] - data[i];
    }
    verdict(code == KS_OK && sorted && sum == 0, "quicksort", "%s", err.message);
    code = launch("endless", 1, 1, 0, &out);
    verdict(code == KS_ERR_DEVICE && strstr(err.message, "nested too deeply") &&
                ks_streq(ks_emu_fault_kind(dev), "stack-overflow"),
            "endless recursion", "%s", err.message);
}

static void test_pointers(void)
{
    static int got[64];
    void *out = upload(NULL, 4096, "out");
    enum ks_code code = launch("pointers", 1, 64, 0, &out);
    bool ok = code == KS_OK;
    download(got, out, sizeof(got));
    for (int i = 0; i < 64; i++)
        ok &= got[i] == (i % 3 == 0 ? i + 7 : i % 3 == 1 ? i - 7 : i * 7);
    verdict(ok, "function pointers", "%s", err.message);
    code = launch("virtuals", 1, 64, 0, &out);
    ok = code == KS_OK;
    download(got, out, sizeof(got));
    for (int i = 0; i < 64; i++)
        ok &= got[i] == (i & 1 ? i * i : 3 * i);
    verdict(ok, "virtual functions", "%s", err.message);
}

static void test_clocks(void)
{
    unsigned long long t[3], again[3];
    void *out = upload(NULL, 24, "out");
    enum ks_code code = launch("clocks", 1, 1, 0, &out);
    download(t, out, sizeof(t));
    verdict(code == KS_OK && t[1] >= t[0] + 5000 && t[2] >= 5000, "nanosleep passes virtual time", "%s: %llu ns, %llu clocks",
            err.message, t[1] - t[0], t[2]);
    code = launch("clocks", 1, 1, 0, &out);
    download(again, out, sizeof(again));
    verdict(code == KS_OK && again[0] >= t[1], "%globaltimer goes on from launch to launch", "%llu after %llu", again[0], t[1]);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        printf("usage: %s calls_kernels.ptx\n", argv[0]);
        return 2;
    }
    struct ks_emu_config c = {.arch = "sm_90a", .checks = KS_EMU_CHECK_ALL, .counters = true};
    start_device(&c, argv[1]);
    test_recursion();
    test_pointers();
    test_clocks();
    struct ks_json *found = ks_emu_findings(dev);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_json_print_pretty(found, &text);
    verdict(ks_json_len(found) == 1, "no false alarms", "%s", ks_str_cstr(&text)); /* the endless recursion's own */
    ks_json_free(found);
    return finish();
}
