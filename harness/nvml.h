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
/* The reasons alone, which is quick; 0 where NVML is missing. */
unsigned long long ks_nvml_reasons(void);
/* Held down by heat or by the board's power supply: such a sample says nothing about the code.  The power cap is not among these,
 * under a steady load both arms live with it. */
bool ks_nvml_spoils(unsigned long long reasons);
/* Bits that mean the clock was held down: power cap, thermal, hardware slowdown. */
bool ks_nvml_throttled(const struct ks_nvml_sample *s);

#endif
