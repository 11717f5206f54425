#include "harness/emulated/exec_float.h"
#include "harness/emulated/device.h"

/* Operations among lanes.  `mask` holds exactly the lanes that take part. */

enum shfl_mode { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

static void shfl(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, enum shfl_mode mode)
{
    uint32_t *d = R32(in->d), src[EMU_LANES], inside = 0;
    const uint32_t *b = R32(in->b), *c = R32(in->ext[0]);
    int suspect = -1, source = 0;
    memcpy(src, R32(in->a), sizeof(src));
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(mask, i))
            continue;
        int32_t bval = (int32_t)(b[i] & 31), cval = (int32_t)(c[i] & 31), segment = (int32_t)(c[i] >> 8 & 31);
        int32_t max_lane = (i & segment) | (cval & ~segment), min_lane = i & segment, j = i;
        bool ok = false;
        switch (mode) {
        case SHFL_UP:
            j = i - bval;
            ok = j >= max_lane;
            break;
        case SHFL_DOWN:
            j = i + bval;
            ok = j <= max_lane;
            break;
        case SHFL_BFLY:
            j = i ^ bval;
            ok = j <= max_lane;
            break;
        case SHFL_IDX:
            j = min_lane | (bval & ~segment);
            ok = j <= max_lane;
            break;
        }
        if (!ok)
            j = i;
        if (!emu_lane(mask, j) && suspect < 0) {
            suspect = i;
            source = j & 31;
        }
        inside |= (uint32_t)ok << i;
        d[i] = src[j & 31];
    }
    if (in->n_ext > 1)
        emu_set_pred(&RP(in->ext[1]), inside, mask);
    if (suspect >= 0 && (w->worker->launch->checks & KS_EMU_CHECK_SYNC)) {
        struct emu_party other = ks_emu_lane_party(w, source);
        ks_emu_report(w, "shuffle-source", suspect, w->pc, "", mask, "", &other,
                      "shuffle reads lane %d, which takes no part: member lanes are 0x%08x", source, mask);
    }
}
#define SHFL(name, mode)                                                                                                         \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        shfl(w, in, mask, mode);                                                                                                 \
    }
SHFL(shfl_up, SHFL_UP)
SHFL(shfl_down, SHFL_DOWN)
SHFL(shfl_bfly, SHFL_BFLY)
SHFL(shfl_idx, SHFL_IDX)

static void vote_all(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    emu_set_pred(&RP(in->d), (RP(in->a) & mask) == mask ? EMU_FULL : 0, mask);
}
static void vote_any(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    emu_set_pred(&RP(in->d), (RP(in->a) & mask) ? EMU_FULL : 0, mask);
}
static void vote_uni(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t yes = RP(in->a) & mask;
    emu_set_pred(&RP(in->d), yes == 0 || yes == mask ? EMU_FULL : 0, mask);
}
static void spread(uint32_t *d, uint32_t v, uint32_t mask)
{
    FOR_LANES(i) d[i] = (mask >> i & 1u) ? v : d[i];
}
static void vote_ballot(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    spread(R32(in->d), RP(in->a) & mask, mask);
}
static void activemask(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    spread(R32(in->d), mask, mask);
}
static void elect(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t lead = (uint32_t)__builtin_ctz(mask);
    spread(R32(in->d), lead, mask);
    emu_set_pred(&RP(in->ext[0]), 1u << lead, mask);
}

#define MATCH(suffix, T)                                                                                                         \
    static void match_any_##suffix(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                 \
    {                                                                                                                            \
        uint32_t *d = R32(in->d), r[EMU_LANES];                                                                                  \
        const T *a = emu_at(w, in->a);                                                                                           \
        FOR_LANES(i)                                                                                                             \
        {                                                                                                                        \
            uint32_t same = 0;                                                                                                   \
            for (int j = 0; j < EMU_LANES; j++)                                                                                  \
                same |= (uint32_t)(a[j] == a[i]) << j;                                                                           \
            r[i] = same & mask;                                                                                                  \
        }                                                                                                                        \
        FOR_LANES(i) d[i] = emu_lane(mask, i) ? r[i] : d[i];                                                                     \
    }                                                                                                                            \
    static void match_all_##suffix(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                 \
    {                                                                                                                            \
        const T *a = emu_at(w, in->a), v = a[__builtin_ctz(mask)];                                                               \
        uint32_t same = 0;                                                                                                       \
        FOR_LANES(i) same |= (uint32_t)(a[i] == v) << i;                                                                         \
        bool all = (same & mask) == mask;                                                                                        \
        spread(R32(in->d), all ? mask : 0, mask);                                                                                \
        if (in->n_ext)                                                                                                           \
            emu_set_pred(&RP(in->ext[0]), all ? EMU_FULL : 0, mask);                                                             \
    }
MATCH(32, uint32_t)
MATCH(64, uint64_t)

#define REDUX(name, T, start, expr)                                                                                              \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        const T *a = emu_at(w, in->a);                                                                                           \
        T x = (start);                                                                                                           \
        FOR_LANES(i)                                                                                                             \
        {                                                                                                                        \
            T y = a[i];                                                                                                          \
            x = emu_lane(mask, i) ? (T)(expr) : x;                                                                               \
        }                                                                                                                        \
        spread(R32(in->d), (uint32_t)x, mask);                                                                                   \
    }
REDUX(redux_add, uint32_t, 0, x + y)
REDUX(redux_and, uint32_t, EMU_FULL, x &y)
REDUX(redux_or, uint32_t, 0, x | y)
REDUX(redux_xor, uint32_t, 0, x ^ y)
REDUX(redux_min_u32, uint32_t, UINT32_MAX, x < y ? x : y)
REDUX(redux_max_u32, uint32_t, 0, x > y ? x : y)
REDUX(redux_min_s32, int32_t, INT32_MAX, x < y ? x : y)
REDUX(redux_max_s32, int32_t, INT32_MIN, x > y ? x : y)

static void redux_f32(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, bool max)
{
    const float *a = RF(in->a);
    bool nan = false, magnitudes = in->sub & EMU_XORSIGN;
    float x = a[__builtin_ctz(mask)];
    x = magnitudes ? fabsf(x) : x;
    FOR_LANES(i)
    {
        if (!emu_lane(mask, i))
            continue;
        nan |= a[i] != a[i];
        float y = magnitudes ? fabsf(a[i]) : a[i];
        x = max ? emu_max32(x, y) : emu_min32(x, y);
    }
    spread(R32(in->d), nan && (in->sub & EMU_NAN) ? 0x7fffffffu : emu_bits32(x), mask);
}
static void redux_min_f32(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    redux_f32(w, in, mask, false);
}
static void redux_max_f32(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    redux_f32(w, in, mask, true);
}

/* Arguments of calls: between the frames of local memory.  target: offset of the destination, imm: of the source, bytes above. */
static void frame_copy(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t to = in->target, from = (uint32_t)in->imm;
    size_t n = (size_t)((uint64_t)in->imm >> 32);
    FOR_LANES(i)
    {
        if (!emu_lane(mask, i))
            continue;
        size_t base = (size_t)i * w->local_bytes + w->frame[i];
        if (w->frame[i] + to + n > w->local_bytes || w->frame[i] + from + n > w->local_bytes)
            continue; /* the call itself reports the overflow */
        memmove(w->local + base + to, w->local + base + from, n);
        if (w->local_init)
            memmove(w->local_init + base + to, w->local_init + base + from, n);
    }
}

const struct emu_row ks_emu_rows_warp[] = {{"shfl.up", shfl_up},
                                           {"shfl.down", shfl_down},
                                           {"shfl.bfly", shfl_bfly},
                                           {"shfl.idx", shfl_idx},
                                           {"vote.all", vote_all},
                                           {"vote.any", vote_any},
                                           {"vote.uni", vote_uni},
                                           {"vote.ballot", vote_ballot},
                                           {"activemask", activemask},
                                           {"elect", elect},
                                           {"match.any.b32", match_any_32},
                                           {"match.any.b64", match_any_64},
                                           {"match.all.b32", match_all_32},
                                           {"match.all.b64", match_all_64},
                                           {"redux.add.u32", redux_add},
                                           {"redux.add.s32", redux_add},
                                           {"redux.and.b32", redux_and},
                                           {"redux.or.b32", redux_or},
                                           {"redux.xor.b32", redux_xor},
                                           {"redux.min.u32", redux_min_u32},
                                           {"redux.max.u32", redux_max_u32},
                                           {"redux.min.s32", redux_min_s32},
                                           {"redux.max.s32", redux_max_s32},
                                           {"redux.min.f32", redux_min_f32},
                                           {"redux.max.f32", redux_max_f32},
                                           {"frame_copy", frame_copy},
                                           {NULL, NULL}};
