#include "harness/nvml.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define NVML_CLOCK_SM        1
#define NVML_CLOCK_MEM       2
#define NVML_TEMPERATURE_GPU 0
/* nvmlClocksThrottleReason*: SwPowerCap 0x4, HwSlowdown 0x8, SwThermalSlowdown 0x20, HwThermalSlowdown 0x40, HwPowerBrake 0x80 */
#define NVML_HELD_DOWN 0xecull
#define NVML_SPOILED   0xe8ull

static struct {
    bool tried, ready;
    void *device;
    int (*init)(void);
    int (*by_index)(unsigned, void **);
    int (*by_uuid)(const char *, void **);
    int (*clock)(void *, int, unsigned *);
    int (*temperature)(void *, int, unsigned *);
    int (*reasons)(void *, unsigned long long *);
} nvml;

/* CUDA's first device: CUDA_VISIBLE_DEVICES may name another index or a UUID than 0. */
static bool device_find(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible && strncmp(visible, "GPU-", 4) == 0 && nvml.by_uuid)
        return nvml.by_uuid(visible, &nvml.device) == 0;
    return nvml.by_index(visible && *visible >= '0' && *visible <= '9' ? (unsigned)strtoul(visible, NULL, 10) : 0,
                         &nvml.device) == 0;
}

static void load(void)
{
    nvml.tried = true;
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return;
    const struct {
        const char *symbol;
        void *slot;
    } table[] = {
        {"nvmlInit_v2", &nvml.init},
        {"nvmlDeviceGetHandleByIndex_v2", &nvml.by_index},
        {"nvmlDeviceGetHandleByUUID", &nvml.by_uuid},
        {"nvmlDeviceGetClockInfo", &nvml.clock},
        {"nvmlDeviceGetTemperature", &nvml.temperature},
        {"nvmlDeviceGetCurrentClocksThrottleReasons", &nvml.reasons},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *p = dlsym(lib, table[i].symbol);
        if (p)
            memcpy(table[i].slot, &p, sizeof p);
    }
    nvml.ready = nvml.init && nvml.by_index && nvml.clock && nvml.init() == 0 && device_find();
}

struct ks_nvml_sample ks_nvml_read(void)
{
    struct ks_nvml_sample s = {0};
    if (!nvml.tried)
        load();
    if (!nvml.ready || nvml.clock(nvml.device, NVML_CLOCK_SM, &s.sm_mhz) != 0)
        return s;
    s.present = true;
    nvml.clock(nvml.device, NVML_CLOCK_MEM, &s.memory_mhz);
    if (nvml.temperature)
        nvml.temperature(nvml.device, NVML_TEMPERATURE_GPU, &s.celsius);
    if (nvml.reasons)
        nvml.reasons(nvml.device, &s.throttle_reasons);
    return s;
}

unsigned long long ks_nvml_reasons(void)
{
    unsigned long long r = 0;
    if (!nvml.tried)
        load();
    return nvml.ready && nvml.reasons && nvml.reasons(nvml.device, &r) == 0 ? r : 0;
}

bool ks_nvml_spoils(unsigned long long reasons)
{
    return (reasons & NVML_SPOILED) != 0;
}

bool ks_nvml_throttled(const struct ks_nvml_sample *s)
{
    return s->present && (s->throttle_reasons & NVML_HELD_DOWN) != 0;
}
