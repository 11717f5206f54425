#ifndef KS_HARNESS_NVML_H
#define KS_HARNESS_NVML_H

/* Clocks, temperature and throttle reasons of the first GPU, through libnvidia-ml.so.1 loaded when asked; absent library: present
 * is false. */

#include <stdbool.h>

struct ks_nvml_sample {
    bool present;
    unsigned sm_mhz, memory_mhz, celsius;
    unsigned long long throttle_reasons; /* NVML bits; 0 and 1 (idle) mean none */
};
struct ks_nvml_sample ks_nvml_read(void);
/* Bits that mean the clock was held down: power cap, thermal, hardware slowdown. */
bool ks_nvml_throttled(const struct ks_nvml_sample *s);

#endif
