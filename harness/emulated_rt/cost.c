/* What runtime calls other than launches cost, added to the device's modelled time. */
#include "harness/emulated_rt/rt.h"

#define RT_BUS_GBS 25.0 /* host memory over PCIe 4 x16, or pageable memory over PCIe 5 */

static const struct {
    double host_us;
    bool drains;
} costs[] = {
#define A(name, host_us, drains) {host_us, drains},
#include "harness/emulated_rt/api_cost.def"
#undef A
};

void rt_spend(struct ks_emu *emu, enum rt_api call, double bus_bytes, double device_bytes)
{
    ks_emu_spend(emu, costs[call].host_us * 1e3 + bus_bytes / RT_BUS_GBS, device_bytes, costs[call].drains);
}
