/* The worker's records of what the device did, by the fake CUPTI: test_activity LIBCUPTI. */
#include "harness/worker/activity.h"
#include "tests/record_gpu/fake.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *want)
{
    KS_AUTO_STR struct ks_str got = KS_STR_INIT;
    ks_activity_print(&got);
    if (strcmp(ks_str_cstr(&got), want) != 0) {
        printf("got %s, expected %s\n", ks_str_cstr(&got), want);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct ks_err err;
    if (argc != 2 || ks_activity_is_on())
        return 2;
    if (ks_activity_open("/nonexistent/libcupti.so", &err) == KS_OK && !ks_activity_is_on())
        return 3;
    if (ks_activity_open(argv[1], &err) != KS_OK) {
        printf("%s\n", err.message);
        return 4;
    }
    void *symbol = dlsym(dlopen(argv[1], RTLD_NOW), "fake_record");
    void (*add)(const CUpti_ActivityKernel10 *);
    memcpy(&add, &symbol, sizeof add);
    CUpti_ActivityKernel10 k = {
        .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, .start = 1700000000000000000ull, .end = 1700000000000060000ull};
    expect("[]");
    k.name = "kscc_spin", k.correlationId = 8;
    add(&k);
    k.name = "_Z1kPf", k.correlationId = 9, k.start = k.end + 100, k.end = k.start + 7;
    add(&k);
    expect("[[0,60000,8,1],[60100,60107,9,0]]");
    ks_activity_clear();
    expect("[]");
    add(&k);
    expect("[[0,7,9,0]]");
    puts("ok");
    return 0;
}
