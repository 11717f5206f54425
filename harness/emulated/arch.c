#include "harness/emulated/device.h"

#include <stdio.h>

static const struct emu_arch archs[] = {
#define A(...) {__VA_ARGS__},
#include "harness/emulated/arch.def"
#undef A
};

/* "sm_90a" and "compute_90a" have the limits of sm_90. */
const struct emu_arch *ks_emu_arch_find(const char *name)
{
    if (!name)
        return NULL;
    const char *digits = strpbrk(name, "0123456789");
    if (!digits || !(ks_str_starts(name, "sm_") || ks_str_starts(name, "compute_")))
        return NULL;
    int cc = (int)strtol(digits, NULL, 10);
    const char *suffix = digits + strspn(digits, "0123456789");
    for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++)
        if (archs[i].cc == cc)
            return *suffix == 0 || (strchr(archs[i].suffixes, *suffix) && suffix[1] == 0) ? &archs[i] : NULL;
    return NULL;
}

bool ks_emu_card_find(const char *arch, struct ks_emu_card *ret)
{
    const struct emu_arch *a = ks_emu_arch_find(arch);
    if (!a)
        return false;
    *ret = (struct ks_emu_card){.major = a->cc / 10,
                                .minor = a->cc % 10,
                                .sms = a->sms,
                                .shared_optin = (size_t)a->shared_block,
                                .shared_per_sm = (size_t)a->shared_sm,
                                .blocks_per_sm = a->max_blocks_sm,
                                .threads_per_sm = a->max_threads_sm,
                                .l2_bytes = (int)(a->l2_mib * 1048576.0),
                                .memory_bytes = (size_t)(a->memory_gib * 1073741824.0),
                                .clock_khz = a->boost_khz,
                                .memory_clock_khz = a->memory_khz,
                                .bus_bits = a->bus_bits};
    (void)snprintf(ret->name, sizeof(ret->name), "emulated %s (%s)", a->board, arch);
    return true;
}

static int limit_blocks(int have, int need, int most)
{
    return need > 0 && have / need < most ? have / need : most;
}

void ks_emu_occupancy(const struct emu_arch *a, uint32_t threads, uint32_t registers, uint32_t shared_bytes,
                      struct emu_occupancy *ret)
{
    int warps = (int)(threads + 31) / 32;
    /* registers are given to a warp in chunks of 256 */
    int regs_warp = (int)(registers * 32 + 255) / 256 * 256;
    int shared = shared_bytes || a->shared_reserved ? ((int)shared_bytes + a->shared_reserved + 127) / 128 * 128 : 0;
    int most = a->max_blocks_sm;
    *ret = (struct emu_occupancy){.by_blocks = most,
                                  .by_warps = limit_blocks(a->max_warps_sm, warps, most),
                                  .by_registers = limit_blocks(a->regs_sm / (regs_warp ? regs_warp : 1), warps, most),
                                  .by_shared = limit_blocks(a->shared_sm, shared, most)};
    const struct {
        int n;
        const char *name;
    } limits[] = {
        {ret->by_blocks, "blocks"}, {ret->by_warps, "warps"}, {ret->by_registers, "registers"}, {ret->by_shared, "shared"}};
    ret->blocks_per_sm = most;
    ret->limiter = limits[0].name;
    for (size_t i = 1; i < sizeof(limits) / sizeof(*limits); i++)
        if (limits[i].n < ret->blocks_per_sm) {
            ret->blocks_per_sm = limits[i].n;
            ret->limiter = limits[i].name;
        }
    ret->warps_per_sm = ret->blocks_per_sm * warps;
}
