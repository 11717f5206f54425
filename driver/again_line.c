#include "driver/again_line.h"

#include <string.h>

static bool flag_is_one_of(const struct ks_flag *f, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ks_flag_is(f, names[i]))
            return true;
    return false;
}

static bool values_begin(const struct ks_item *item, const char *const *prefixes, size_t n, struct ks_arena *arena)
{
    const char **parts = NULL;
    size_t n_parts = item->value ? ks_list_split(item->value, arena, &parts) : 0;
    for (size_t i = 0; i < n_parts; i++)
        if (!ks_str_starts_one(parts[i], prefixes, n))
            return false;
    return true;
}

/* Words for the programs behind nvcc: those that are known to change nothing but code and messages. */
static bool passes_plain_words(const struct ks_item *item, struct ks_arena *arena)
{
    static const char *const cudafe[] = {"--diag_", "--display_error_number"};
    static const char *const ptxas[] = {
        "-v",     "--verbose",    "-O",         "--opt-level", "-dlcm",   "--def-load-cache",  "-dscm",
        "-w",     "--warn",       "-Werror",    "-g",          "--fmad",  "--def-store-cache", "-maxrregcount",
        "--maxr", "--allow-expe", "--position", "--return-at", "-suppre", "--suppress",        "--disable-optimizer-constants"};
    static const char *const names[] = {"cicc-options", "fatbin-options", "nvlink-options", "libdevice-directory",
                                        "archive-options"};
    if (flag_is_one_of(item->flag, names, sizeof(names) / sizeof(names[0])))
        return false;
    if (ks_flag_is(item->flag, "cudafe-options"))
        return values_begin(item, cudafe, sizeof(cudafe) / sizeof(cudafe[0]), arena);
    return !ks_flag_is(item->flag, "ptxas-options") || values_begin(item, ptxas, sizeof(ptxas) / sizeof(ptxas[0]), arena);
}

/* One unit to one object and at most a dependency file. */
bool ks_again_line_is_plain(const struct ks_cmdline *c)
{
    static const char *const phases[] = {"compile", "device-c", "device-w"}, *const harmless[] = {"threads", "jobserver",
                                                                                                  "resource-usage"};
    if (c->inputs.n != 1 || c->inputs.data[0].lang != KS_LANG_CUDA || c->not_understood)
        return false;
    size_t n_phases = 0;
    for (size_t i = 0; i < c->items.n; i++) {
        const struct ks_flag *f = c->items.data[i].flag;
        bool phase = (f->bits & KS_FLAG_PHASE) != 0;
        n_phases += phase;
        if ((phase && !flag_is_one_of(f, phases, sizeof(phases) / sizeof(phases[0]))) || (f->bits & KS_FLAG_OPAQUE) ||
            !passes_plain_words(&c->items.data[i], c->arena) ||
            ((f->bits & KS_FLAG_NOISE) && !flag_is_one_of(f, harmless, sizeof(harmless) / sizeof(harmless[0]))))
            return false;
    }
    return n_phases == 1;
}
