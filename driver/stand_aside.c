#include "driver/stand_aside.h"

#include "base/file.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

static const struct ks_stand_aside act = {false, KS_STAT_UNITS, NULL};
static const struct ks_stand_aside silent = {true, KS_STAT_SILENT, NULL};

/* Files that build systems compile to find out what the compiler can do. */
static bool is_probe(const char *path)
{
    static const char *const bases[] = {"conftest.", "sanitycheck", "CMakeCUDACompiler", "testCUDACompiler",
                                        "CheckFunctionExists"};
    const char *base = ks_path_base(path);
    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
        if (ks_str_starts(base, bases[i]))
            return true;
    char cwd[PATH_MAX];
    if (!getcwd(cwd, sizeof(cwd)))
        cwd[0] = '\0';
    const char *const texts[] = {cwd, path};
    for (int i = 0; i < 2; i++)
        if (strstr(texts[i], "TryCompile-") || strstr(texts[i], "/CMakeTmp") || strstr(texts[i], "/CompilerIdCUDA") ||
            strstr(texts[i], "meson-private"))
            return true;
    return false;
}

/* The phases in which nvcc makes host objects out of .cu files one by one. */
static bool phase_is_object(const struct ks_flag *f)
{
    return ks_flag_is(f, "compile") || ks_flag_is(f, "device-c") || ks_flag_is(f, "device-w");
}

/* The phases that make device code alone: nothing could choose between original and candidate there. */
static bool phase_is_device_only(const struct ks_flag *f)
{
    return ks_flag_is(f, "cubin") || ks_flag_is(f, "fatbin");
}

/* "-gencode arch=compute_90,code=lto_90", "-Xcompiler -flto": the object holds no machine code to be judged, or other code than
 * the link makes of it. */
static bool names_lto(const struct ks_item *item)
{
    const char *word = ks_flag_is(item->flag, "compiler-options") ? "-flto" : item->flag->bits & KS_FLAG_ARCH ? "lto_" : NULL;
    return word && item->value && strstr(item->value, word);
}

static const char *spelled(const struct ks_cmdline *c, const struct ks_item *item)
{
    return c->words.data[item->word].text;
}

bool ks_links(const struct ks_cmdline *c)
{
    for (size_t i = 0; i < c->items.n; i++)
        if (phase_is_object(c->items.data[i].flag))
            return false;
    return true;
}

struct ks_stand_aside ks_stand_aside(const struct ks_cmdline *c)
{
    const struct ks_item *opaque = NULL, *device_only = NULL, *lto = NULL;
    for (size_t i = 0; i < c->items.n; i++) {
        const struct ks_item *item = &c->items.data[i];
        if (item->flag->bits & KS_FLAG_QUERY)
            return silent;
        if (item->flag->bits & KS_FLAG_OPAQUE)
            opaque = item;
        if (names_lto(item))
            lto = item;
        if (phase_is_device_only(item->flag)) {
            device_only = item;
            continue;
        }
        if (!(item->flag->bits & KS_FLAG_PHASE))
            continue;
        if (!phase_is_object(item->flag) && !ks_flag_is(item->flag, "link"))
            return silent;
    }
    size_t n_cuda = 0;
    for (size_t i = 0; i < c->inputs.n; i++) {
        n_cuda += c->inputs.data[i].lang == KS_LANG_CUDA;
        if (is_probe(c->inputs.data[i].path))
            return silent;
    }
    if (n_cuda == 0)
        return silent;
    if (c->not_understood)
        return (struct ks_stand_aside){true, KS_STAT_ASIDE_UNKNOWN, c->not_understood};
    if (device_only)
        return (struct ks_stand_aside){
            true, KS_STAT_ASIDE_OPTION,
            ks_arena_printf(c->arena, "option '%s' leaves no host code to choose a candidate in", spelled(c, device_only))};
    if (ks_links(c) && ks_cmdline_find(c, "output-directory"))
        return (struct ks_stand_aside){true, KS_STAT_ASIDE_LINK, "linking into another folder (-odir)"};
    if (opaque)
        return (struct ks_stand_aside){true, KS_STAT_ASIDE_OPTION,
                                       ks_arena_printf(c->arena, "option '%s' is in use", spelled(c, opaque))};
    if (lto)
        return (struct ks_stand_aside){
            true, KS_STAT_ASIDE_OPTION,
            ks_arena_printf(c->arena, "'%s %s' leaves the machine code to the link", spelled(c, lto), lto->value)};
    for (size_t i = 0; i < c->inputs.n; i++)
        if (strcmp(c->inputs.data[i].path, "-") == 0)
            return (struct ks_stand_aside){true, KS_STAT_ASIDE_STDIN, "the source comes from standard input"};
    return act;
}

/* With a wrong value nobody knows what was wanted: it is said wherever an agent would have spoken. */
struct ks_stand_aside ks_stand_aside_call(const struct ks_call *call)
{
    bool asked = call->settings.o_agent || call->settings_code != KS_OK;
    return asked ? ks_stand_aside(&call->cmdline) : (struct ks_stand_aside){true, KS_STAT_PLAIN, NULL};
}
