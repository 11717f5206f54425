#include "harness/emulated/device.h"

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
    size_t len = strspn(digits, "0123456789");
    if (digits[len] && !((digits[len] == 'a' || digits[len] == 'f') && digits[len + 1] == 0))
        return NULL;
    for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++)
        if (archs[i].cc == cc)
            return &archs[i];
    return NULL;
}

static int limit_blocks(int have, int need, int best, const char *what, const char **limiter)
{
    int n = need > 0 ? have / need : best;
    if (n < best) {
        *limiter = what;
        return n;
    }
    return best;
}

void ks_emu_occupancy(const struct emu_arch *a, uint32_t threads, uint32_t registers, uint32_t shared_bytes,
                      struct emu_occupancy *ret)
{
    int warps = (int)(threads + 31) / 32;
    /* registers are given to a warp in chunks of 256 */
    int regs_warp = (int)(registers * 32 + 255) / 256 * 256;
    int shared = shared_bytes || a->shared_reserved ? ((int)shared_bytes + a->shared_reserved + 127) / 128 * 128 : 0;
    const char *limiter = "blocks";
    int n = a->max_blocks_sm;
    n = limit_blocks(a->max_warps_sm, warps, n, "warps", &limiter);
    n = limit_blocks(a->regs_sm / (regs_warp ? regs_warp : 1), warps, n, "registers", &limiter);
    n = limit_blocks(a->shared_sm, shared, n, "shared", &limiter);
    *ret = (struct emu_occupancy){n, n * warps, limiter};
}
