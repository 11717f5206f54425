#include "harness/emulated/exec_float.h"

/* Comparisons into predicates, and selection by them. */

static inline uint32_t pack(const uint32_t *yes)
{
    uint32_t r = 0;
    FOR_LANES(i) r |= yes[i] & 1u << i;
    return r;
}

#define SETP(name, T, expr)                                                                                                      \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        const T *a = __builtin_assume_aligned(emu_at(w, in->a), 64);                                                             \
        const T *b = __builtin_assume_aligned(emu_at(w, in->b), 64);                                                             \
        uint32_t yes[EMU_LANES];                                                                                                 \
        FOR_LANES(i)                                                                                                             \
        {                                                                                                                        \
            T x = a[i], y = b[i];                                                                                                \
            yes[i] = (expr) ? 0xffffffffu : 0;                                                                                   \
        }                                                                                                                        \
        emu_set_pred(&RP(in->d), pack(yes), mask);                                                                               \
    }
#define SETP_INT(suffix, T)                                                                                                      \
    SETP(eq_##suffix, T, x == y)                                                                                                 \
    SETP(ne_##suffix, T, x != y)                                                                                                 \
    SETP(lt_##suffix, T, x < y)                                                                                                  \
    SETP(le_##suffix, T, x <= y)                                                                                                 \
    SETP(gt_##suffix, T, x > y)                                                                                                  \
    SETP(ge_##suffix, T, x >= y)
SETP_INT(u16, uint16_t)
SETP_INT(s16, int16_t)
SETP_INT(u32, uint32_t)
SETP_INT(s32, int32_t)
SETP_INT(u64, uint64_t)
SETP_INT(s64, int64_t)
/* Ordered comparisons are false with a NaN, the -u forms true. */
#define SETP_FLOAT(suffix, T, F)                                                                                                 \
    SETP(eq_##suffix, T, F(x) == F(y))                                                                                           \
    SETP(ne_##suffix, T, F(x) < F(y) || F(x) > F(y))                                                                             \
    SETP(lt_##suffix, T, F(x) < F(y))                                                                                            \
    SETP(le_##suffix, T, F(x) <= F(y))                                                                                           \
    SETP(gt_##suffix, T, F(x) > F(y))                                                                                            \
    SETP(ge_##suffix, T, F(x) >= F(y))                                                                                           \
    SETP(equ_##suffix, T, !(F(x) < F(y) || F(x) > F(y)))                                                                         \
    SETP(neu_##suffix, T, F(x) != F(y))                                                                                          \
    SETP(ltu_##suffix, T, !(F(x) >= F(y)))                                                                                       \
    SETP(leu_##suffix, T, !(F(x) > F(y)))                                                                                        \
    SETP(gtu_##suffix, T, !(F(x) <= F(y)))                                                                                       \
    SETP(geu_##suffix, T, !(F(x) < F(y)))                                                                                        \
    SETP(num_##suffix, T, F(x) == F(x) && F(y) == F(y))                                                                          \
    SETP(nan_##suffix, T, F(x) != F(x) || F(y) != F(y))
#define PLAIN(v) (v)
SETP_FLOAT(f32, float, PLAIN)
SETP_FLOAT(f32z, float, emu_ftz)
SETP_FLOAT(f64, double, PLAIN)
SETP_FLOAT(f16, uint16_t, emu_half_to_float)
SETP_FLOAT(bf16, uint16_t, emu_bf16_to_float)

/* High halves of packed operands: moved down by decode (exec_move.c), so the scalar forms serve. */

#define SELP(name, T)                                                                                                            \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        T *d = __builtin_assume_aligned(emu_at(w, in->d), 64);                                                                   \
        const T *a = __builtin_assume_aligned(emu_at(w, in->a), 64);                                                             \
        const T *b = __builtin_assume_aligned(emu_at(w, in->b), 64);                                                             \
        uint32_t p = RP(in->c);                                                                                                  \
        if (mask == EMU_FULL) {                                                                                                  \
            _Pragma("GCC ivdep") FOR_LANES(i) d[i] = (p >> i & 1u) ? a[i] : b[i];                                                \
        } else {                                                                                                                 \
            _Pragma("GCC ivdep") FOR_LANES(i)                                                                                    \
            {                                                                                                                    \
                T r = (p >> i & 1u) ? a[i] : b[i];                                                                               \
                d[i] = (mask >> i & 1u) ? r : d[i];                                                                              \
            }                                                                                                                    \
        }                                                                                                                        \
    }
SELP(selp_16, uint16_t)
SELP(selp_32, uint32_t)
SELP(selp_64, uint64_t)
static void selp_pred(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t p = RP(in->c);
    emu_set_pred(&RP(in->d), (RP(in->a) & p) | (RP(in->b) & ~p), mask);
}

/* slct: d = c >= 0 ? a : b; a NaN selects b, and -0 counts as >= 0. */
EMU_TERNARY2(slct_s32_16, uint16_t, uint16_t, int32_t, z >= 0 ? x : y)
EMU_TERNARY2(slct_f32_16, uint16_t, uint16_t, float, z >= 0 ? x : y)
EMU_TERNARY2(slct_ftz_32, uint32_t, uint32_t, float, emu_ftz(z) >= 0 ? x : y)
EMU_TERNARY2(slct_ftz_64, uint64_t, uint64_t, float, emu_ftz(z) >= 0 ? x : y)
EMU_TERNARY2(slct_ftz_16, uint16_t, uint16_t, float, emu_ftz(z) >= 0 ? x : y)
EMU_TERNARY2(slct_s32_32, uint32_t, uint32_t, int32_t, z >= 0 ? x : y)
EMU_TERNARY2(slct_s32_64, uint64_t, uint64_t, int32_t, z >= 0 ? x : y)
EMU_TERNARY2(slct_f32_32, uint32_t, uint32_t, float, z >= 0 ? x : y)
EMU_TERNARY2(slct_f32_64, uint64_t, uint64_t, float, z >= 0 ? x : y)

#define INT_ROWS(s)                                                                                                              \
    {"setp.eq." #s, eq_##s}, {"setp.ne." #s, ne_##s}, {"setp.lt." #s, lt_##s}, {"setp.le." #s, le_##s}, {"setp.gt." #s, gt_##s}, \
    {                                                                                                                            \
        "setp.ge." #s, ge_##s                                                                                                    \
    }
#define UNSIGNED_ROWS(n)                                                                                                         \
    {"setp.lo.u" #n, lt_u##n}, {"setp.ls.u" #n, le_u##n}, {"setp.hi.u" #n, gt_u##n}, {"setp.hs.u" #n, ge_u##n},                  \
        {"setp.eq.b" #n, eq_u##n},                                                                                               \
    {                                                                                                                            \
        "setp.ne.b" #n, ne_u##n                                                                                                  \
    }
#define FLOAT_ROWS(key, s)                                                                                                       \
    {"setp.eq." key, eq_##s}, {"setp.ne." key, ne_##s}, {"setp.lt." key, lt_##s}, {"setp.le." key, le_##s},                      \
        {"setp.gt." key, gt_##s}, {"setp.ge." key, ge_##s}, {"setp.equ." key, equ_##s}, {"setp.neu." key, neu_##s},              \
        {"setp.ltu." key, ltu_##s}, {"setp.leu." key, leu_##s}, {"setp.gtu." key, gtu_##s}, {"setp.geu." key, geu_##s},          \
        {"setp.num." key, num_##s},                                                                                              \
    {                                                                                                                            \
        "setp.nan." key, nan_##s                                                                                                 \
    }
const struct emu_row ks_emu_rows_cmp[] = {INT_ROWS(u16),
                                          INT_ROWS(s16),
                                          INT_ROWS(u32),
                                          INT_ROWS(s32),
                                          INT_ROWS(u64),
                                          INT_ROWS(s64),
                                          UNSIGNED_ROWS(16),
                                          UNSIGNED_ROWS(32),
                                          UNSIGNED_ROWS(64),
                                          FLOAT_ROWS("f32", f32),
                                          FLOAT_ROWS("ftz.f32", f32z),
                                          FLOAT_ROWS("f64", f64),
                                          FLOAT_ROWS("f16", f16),
                                          FLOAT_ROWS("bf16", bf16),
                                          {"selp.16", selp_16},
                                          {"selp.32", selp_32},
                                          {"selp.64", selp_64},
                                          {"selp.pred", selp_pred},
                                          {"slct.16.s32", slct_s32_16},
                                          {"slct.16.f32", slct_f32_16},
                                          {"slct.16.ftz.f32", slct_ftz_16},
                                          {"slct.32.ftz.f32", slct_ftz_32},
                                          {"slct.64.ftz.f32", slct_ftz_64},
                                          {"slct.32.s32", slct_s32_32},
                                          {"slct.64.s32", slct_s32_64},
                                          {"slct.32.f32", slct_f32_32},
                                          {"slct.64.f32", slct_f32_64},
                                          {NULL, NULL}};
