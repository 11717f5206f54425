#include "harness/emulated/decode.h"

#include <stdio.h>

/* What a modifier means.  Names that some instructions use for something of their own (shapes, layouts) are read there from the
 * raw list. */
enum mod_kind { M_FLAG, M_RND, M_INTEGRAL, M_SPACE, M_SEM, M_VEC, M_CMP, M_OP, M_MODE, M_CLAMP, M_IGNORE };

static const struct {
    const char *name;
    enum mod_kind kind;
    int value;
} mods[] = {
    {"rn", M_RND, EMU_RN},
    {"rz", M_RND, EMU_RZ},
    {"rm", M_RND, EMU_RM},
    {"rp", M_RND, EMU_RP},
    {"rna", M_RND, EMU_RNA},
    {"rni", M_INTEGRAL, 1},
    {"rzi", M_INTEGRAL, 2},
    {"rmi", M_INTEGRAL, 3},
    {"rpi", M_INTEGRAL, 4},
    {"global", M_SPACE, PTX_GLOBAL},
    {"shared", M_SPACE, PTX_SHARED},
    {"shared::cta", M_SPACE, PTX_SHARED},
    {"shared::cluster", M_SPACE, PTX_SHARED},
    {"local", M_SPACE, PTX_LOCAL},
    {"const", M_SPACE, PTX_CONST},
    {"param", M_SPACE, PTX_PARAM},
    {"param::entry", M_SPACE, PTX_PARAM},
    {"param::func", M_SPACE, PTX_PARAM},
    {"weak", M_SEM, EMU_SEM_WEAK},
    {"volatile", M_SEM, EMU_SEM_VOLATILE},
    {"relaxed", M_SEM, EMU_SEM_RELAXED},
    {"acquire", M_SEM, EMU_SEM_ACQUIRE},
    {"release", M_SEM, EMU_SEM_RELEASE},
    {"acq_rel", M_SEM, EMU_SEM_ACQ_REL},
    {"sc", M_SEM, EMU_SEM_ACQ_REL},
    {"mmio", M_SEM, EMU_SEM_VOLATILE},
    {"v2", M_VEC, 2},
    {"v4", M_VEC, 4},
    {"v8", M_VEC, 8},
    {"cta", M_IGNORE, 0},
    {"cluster", M_IGNORE, 0},
    {"gpu", M_IGNORE, 0},
    {"gl", M_IGNORE, 0},
    {"sys", M_IGNORE, 0},
    {"ca", M_IGNORE, 0},
    {"cg", M_IGNORE, 0},
    {"cs", M_IGNORE, 0},
    {"lu", M_IGNORE, 0},
    {"cv", M_IGNORE, 0},
    {"wb", M_IGNORE, 0},
    {"wt", M_IGNORE, 0},
    {"eq", M_CMP, 0},
    {"ne", M_CMP, 0},
    {"lt", M_CMP, 0},
    {"le", M_CMP, 0},
    {"gt", M_CMP, 0},
    {"ge", M_CMP, 0},
    {"equ", M_CMP, 0},
    {"neu", M_CMP, 0},
    {"ltu", M_CMP, 0},
    {"leu", M_CMP, 0},
    {"gtu", M_CMP, 0},
    {"geu", M_CMP, 0},
    {"num", M_CMP, 0},
    {"nan", M_CMP, 0},
    {"ls", M_CMP, 0},
    {"hs", M_CMP, 0},
    {"and", M_OP, 0},
    {"or", M_OP, 0},
    {"xor", M_OP, 0},
    {"add", M_OP, 0},
    {"min", M_OP, 0},
    {"max", M_OP, 0},
    {"inc", M_OP, 0},
    {"dec", M_OP, 0},
    {"cas", M_OP, 0},
    {"exch", M_OP, 0},
    {"popc", M_OP, 0},
    {"wide", M_MODE, 0},
    {"l", M_MODE, 0},
    {"r", M_MODE, 0},
    {"idx", M_MODE, 0},
    {"up", M_MODE, 0},
    {"down", M_MODE, 0},
    {"bfly", M_MODE, 0},
    {"ballot", M_MODE, 0},
    {"all", M_MODE, 0},
    {"any", M_MODE, 0},
    {"red", M_MODE, 0},
    {"arrive", M_MODE, 0},
    {"wrap", M_CLAMP, 0},
    {"clamp", M_CLAMP, 0},
    {"shiftamt", M_CLAMP, 0},
    {"noinc", M_IGNORE, 0},
    {"f4e", M_CLAMP, 0},
    {"b4e", M_CLAMP, 0},
    {"rc8", M_CLAMP, 0},
    {"ecl", M_CLAMP, 0},
    {"ecr", M_CLAMP, 0},
    {"rc16", M_CLAMP, 0},
    {"finite", M_CLAMP, 0},
    {"infinite", M_CLAMP, 0},
    {"number", M_CLAMP, 0},
    {"notanumber", M_CLAMP, 0},
    {"normal", M_CLAMP, 0},
    {"subnormal", M_CLAMP, 0},
    {"warp", M_MODE, 0},
    {"pack", M_IGNORE, 0},
};

bool ks_emu_has_mod(const struct emu_dec *d, const char *mod)
{
    for (uint32_t i = 0; i < d->in->n_mods; i++)
        if (ks_streq(d->in->mods[i], mod))
            return true;
    return false;
}

static bool read_flag(struct emu_mods *m, const char *s)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"ftz", &m->ftz},       {"sat", &m->sat},         {"satfinite", &m->satfinite},
                 {"approx", &m->approx}, {"full", &m->full},       {"relu", &m->relu},
                 {"NaN", &m->nan},       {"xorsign", &m->xorsign}, {"cc", &m->cc},
                 {"uni", &m->uni},       {"sync", &m->sync},       {"aligned", &m->aligned},
                 {"nc", &m->nc},         {"to", &m->to},           {"noftz", &m->noftz}};
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        if (ks_streq(flags[i].name, s)) {
            *flags[i].flag = true;
            return true;
        }
    }
    return false;
}

static bool read_mod(struct emu_dec *d, struct emu_mods *m, const char *s)
{
    enum ptx_type t = ks_ptx_type_find(s, strlen(s));
    if (t != PTX_NONE) {
        if (m->n_t < 4)
            m->t[m->n_t++] = t;
        return true;
    }
    if (read_flag(m, s))
        return true;
    if (ks_str_starts(s, "L1::") || ks_str_starts(s, "L2::") || ks_str_starts(s, "level::"))
        return true;
    if (ks_streq(s, "abs")) /* of min.xorsign.abs, min.abs, redux.min.abs */
        return d->in->base[0] == 'm' || ks_streq(d->in->base, "redux");
    if (ks_streq(s, "lo") || ks_streq(s, "hi")) { /* setp.lo and setp.hi are comparisons */
        (void)snprintf(d->in->base[0] == 's' && d->in->base[1] == 'e' ? m->cmp : m->mode, sizeof(m->mode), "%s", s);
        return true;
    }
    for (size_t i = 0; i < sizeof(mods) / sizeof(*mods); i++) {
        if (!ks_streq(mods[i].name, s))
            continue;
        switch (mods[i].kind) {
        case M_RND:
            m->rnd = mods[i].value;
            break;
        case M_INTEGRAL:
            m->integral = mods[i].value;
            break;
        case M_SPACE:
            if (m->space == PTX_GENERIC)
                m->space = (enum ptx_space)mods[i].value;
            break;
        case M_SEM:
            m->sem = (enum emu_sem)mods[i].value;
            break;
        case M_VEC:
            m->vec = (uint32_t)mods[i].value;
            break;
        case M_CMP:
            (void)snprintf(m->cmp, sizeof(m->cmp), "%s", s);
            break;
        case M_OP:
            (void)snprintf(m->op, sizeof(m->op), "%s", s);
            break;
        case M_MODE:
            (void)snprintf(m->mode, sizeof(m->mode), "%s", s);
            break;
        case M_CLAMP:
            (void)snprintf(m->clamp, sizeof(m->clamp), "%s", s);
            break;
        case M_FLAG:
        case M_IGNORE:
            break;
        }
        return true;
    }
    return false;
}

enum ks_code ks_emu_read_mods(struct emu_dec *d)
{
    static const char *const raw[] = {"mma",     "wmma",          "ldmatrix", "stmatrix",  "movmatrix",      "cp",
                                      "fence",   "membar",        "prefetch", "prefetchu", "griddepcontrol", "createpolicy",
                                      "discard", "applypriority", "mbarrier", "wgmma",     "tcgen05",        "setmaxnreg",
                                      "pmevent", "tex",           "tld4",     "txq",       "suld",           "sust",
                                      "suq"};
    d->mods = (struct emu_mods){.rnd = -1, .vec = 1};
    bool own = false;
    for (size_t i = 0; i < sizeof(raw) / sizeof(*raw); i++)
        own |= ks_streq(raw[i], d->in->base);
    own |= d->in->base[0] == 'v' && !ks_streq(d->in->base, "vote");
    own |= ks_emu_has_mod(d, "async") || ks_emu_has_mod(d, "cluster"); /* st.async, red.async, barrier.cluster */
    for (uint32_t i = 0; i < d->in->n_mods; i++)
        if (!read_mod(d, &d->mods, d->in->mods[i]) && !own)
            return ks_emu_unsupported(d, NULL);
    return KS_OK;
}
