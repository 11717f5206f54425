#ifndef KS_TESTS_EMULATED_OPS_HOST_H
#define KS_TESTS_EMULATED_OPS_HOST_H

/* CUDA's integer and rounding intrinsics in plain C, written from their documentation, for comparison with the emulated device.
 */

#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define abs(a)    ((a) < 0 ? -(a) : (a))
static inline int __mulhi(int a, int b)
{
    return (int)((long long)a * b >> 32);
}
static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((unsigned long long)a * b >> 32);
}
static inline int sext24(int a)
{
    return (a & 0x7fffff) - (a & 0x800000);
}
static inline int __mul24(int a, int b)
{
    return (int)((long long)sext24(a) * sext24(b));
}
static inline unsigned __sad(int a, int b, unsigned c)
{
    long long d = (long long)a - b;
    return (unsigned)(d < 0 ? -d : d) + c;
}
static inline int __hadd(int a, int b)
{
    return (int)(((long long)a + b) >> 1);
}
static inline unsigned dp4_bits(unsigned a, unsigned b, unsigned c, int is_signed)
{
    for (int k = 0; k < 4; k++) {
        int x = (int)(a >> 8 * k & 255), y = (int)(b >> 8 * k & 255);
        if (is_signed) {
            x = x > 127 ? x - 256 : x;
            y = y > 127 ? y - 256 : y;
        }
        c += (unsigned)(x * y);
    }
    return c;
}
#define __dp4a(a, b, c)                                                                                                          \
    _Generic((a), int : (int)dp4_bits((unsigned)(a), (unsigned)(b), (unsigned)(c), 1), default : dp4_bits(a, b, c, 0))
static inline unsigned __popc(unsigned a)
{
    unsigned n = 0;
    for (; a; a &= a - 1)
        n++;
    return n;
}
static inline unsigned __clz(unsigned a)
{
    unsigned n = 0;
    for (int i = 31; i >= 0 && !(a >> i & 1); i--)
        n++;
    return n;
}
static inline unsigned __ffs(unsigned a)
{
    for (unsigned i = 0; i < 32; i++)
        if (a >> i & 1)
            return i + 1;
    return 0;
}
static inline unsigned __brev(unsigned a)
{
    unsigned r = 0;
    for (int i = 0; i < 32; i++)
        r |= (a >> i & 1) << (31 - i);
    return r;
}
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s)
{
    s &= 31;
    return s ? hi << s | lo >> (32 - s) : hi;
}
static inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned s)
{
    return s >= 32 ? lo : __funnelshift_l(lo, hi, s);
}
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s)
{
    s &= 31;
    return s ? lo >> s | hi << (32 - s) : lo;
}
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s)
{
    unsigned char bytes[8], r[4];
    for (int i = 0; i < 4; i++) {
        bytes[i] = (unsigned char)(x >> 8 * i);
        bytes[4 + i] = (unsigned char)(y >> 8 * i);
    }
    for (int i = 0; i < 4; i++)
        r[i] = bytes[s >> 4 * i & 7];
    return r[0] | (unsigned)r[1] << 8 | (unsigned)r[2] << 16 | (unsigned)r[3] << 24;
}
static inline long long __mul64hi(long long a, long long b)
{
    return (long long)((__int128)a * b >> 64);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline unsigned long long __popcll(unsigned long long a)
{
    return __popc((unsigned)a) + __popc((unsigned)(a >> 32));
}
static inline unsigned long long __clzll(unsigned long long a)
{
    return a >> 32 ? __clz((unsigned)(a >> 32)) : 32 + __clz((unsigned)a);
}
static inline unsigned long long __brevll(unsigned long long a)
{
    return (unsigned long long)__brev((unsigned)a) << 32 | __brev((unsigned)(a >> 32));
}

#define ROUNDED(name, T, args, mode, expr)                                                                                       \
    static __attribute__((noinline)) T name args                                                                                 \
    {                                                                                                                            \
        fesetround(mode);                                                                                                        \
        volatile T va = a, vb = b;                                                                                               \
        (void)vb;                                                                                                                \
        volatile T r = (expr);                                                                                                   \
        fesetround(FE_TONEAREST);                                                                                                \
        return r;                                                                                                                \
    }
ROUNDED(__fadd_rz, float, (float a, float b), FE_TOWARDZERO, va + vb)
ROUNDED(__fadd_ru, float, (float a, float b), FE_UPWARD, va + vb)
ROUNDED(__fadd_rd, float, (float a, float b), FE_DOWNWARD, va + vb)
ROUNDED(__fmul_rz, float, (float a, float b), FE_TOWARDZERO, va *vb)
ROUNDED(__fdiv_rd, float, (float a, float b), FE_DOWNWARD, va / vb)
ROUNDED(__fmaf_ru, float, (float a, float b, float c), FE_UPWARD, fmaf(va, vb, c))
ROUNDED(sqrt_up, float, (float a, float b), FE_UPWARD, sqrtf(va))
ROUNDED(__dadd_ru, double, (double a, double b), FE_UPWARD, va + vb)
#define __fsqrt_ru(x)   sqrt_up(x, 0)
#define __fmul_rn(a, b) ((a) * (b))
#define __dmul_rn(a, b) ((a) * (b))
#define __frcp_rn(a)    (1.0f / (a))
#define __saturatef(a)  ((a) > 0.0f ? ((a) < 1.0f ? (a) : 1.0f) : 0.0f)
#define rsqrtf(a)       ((float)(1.0 / sqrt((double)(a))))

#endif
