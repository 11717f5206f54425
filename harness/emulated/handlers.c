#include "harness/emulated/exec.h"

#include <pthread.h>

/* All handlers by name: a hash table filled once from the exec_*.c tables. */

#define SLOTS 4096

static struct emu_row table[SLOTS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static size_t slot_of(const char *key)
{
    uint32_t h = 2166136261u;
    for (const char *s = key; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    size_t i = h & (SLOTS - 1);
    while (table[i].key && !ks_streq(table[i].key, key))
        i = (i + 1) & (SLOTS - 1);
    return i;
}

static void fill(void)
{
    static const struct emu_row *const all[] = {
        ks_emu_rows_int, ks_emu_rows_bits, ks_emu_rows_f32, ks_emu_rows_f64, ks_emu_rows_half, ks_emu_rows_cmp, ks_emu_rows_cvt,
        ks_emu_rows_special, ks_emu_rows_move, ks_emu_rows_mem, ks_emu_rows_atom, ks_emu_rows_warp, ks_emu_rows_call,
        ks_emu_rows_mma, ks_emu_rows_matrix, ks_emu_rows_texture, ks_emu_rows_wmma, ks_emu_rows_video,
        /* asynchronous ones */
        ks_emu_rows_mbarrier, ks_emu_rows_bulk, ks_emu_rows_cluster, ks_emu_rows_wgmma, ks_emu_rows_tcgen};
    size_t n = 0;
    for (size_t t = 0; t < sizeof(all) / sizeof(*all); t++) {
        for (const struct emu_row *r = all[t]; r->key; r++) {
            size_t i = slot_of(r->key);
            KS_BUG(table[i].key != NULL || ++n > SLOTS / 2);
            table[i] = *r;
        }
    }
}

emu_fn ks_emu_handler(const char *key)
{
    (void)pthread_once(&once, fill);
    return table[slot_of(key)].fn;
}
