/* Included before the user's text when libclang parses it: what nvcc's cuda_runtime.h brings along and clang's wrapper leaves
 * out, and nvcc's builtins of newer toolkits.  Only declarations matter, nothing here is ever compiled into an object. */
#ifndef KSCC_CLANG_SHIM_H
#define KSCC_CLANG_SHIM_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if __has_include(<bits/stl_algobase.h>)
#include <bits/stl_algobase.h> /* std::min and max; the rest of <algorithm>, which nvcc does not bring either, is a tenth of a parse */
#else
#include <algorithm>
#endif
#include <cmath>

#define __NV_ATOMIC_RELAXED       0
#define __NV_ATOMIC_CONSUME       1
#define __NV_ATOMIC_ACQUIRE       2
#define __NV_ATOMIC_RELEASE       3
#define __NV_ATOMIC_ACQ_REL       4
#define __NV_ATOMIC_SEQ_CST       5
#define __NV_THREAD_SCOPE_THREAD  0
#define __NV_THREAD_SCOPE_BLOCK   1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE  3
#define __NV_THREAD_SCOPE_SYSTEM  4

#undef __managed__
#define __managed__ __device__
#undef __CUDACC__ /* clang leaves it empty, and "#if __CUDACC__" wants a value */
#define __CUDACC__ 1
#define _CG_CLUSTER_INTRINSICS_AVAILABLE

using std::isfinite;
using std::isinf;
using std::isnan;

#define KSCC_HOST_MIN_MAX(type)                                                                                                  \
    static inline __attribute__((host)) type max(type a, type b)                                                                 \
    {                                                                                                                            \
        return a < b ? b : a;                                                                                                    \
    }                                                                                                                            \
    static inline __attribute__((host)) type min(type a, type b)                                                                 \
    {                                                                                                                            \
        return b < a ? b : a;                                                                                                    \
    }
KSCC_HOST_MIN_MAX(int)
KSCC_HOST_MIN_MAX(unsigned)
KSCC_HOST_MIN_MAX(long)
KSCC_HOST_MIN_MAX(unsigned long)
KSCC_HOST_MIN_MAX(long long)
KSCC_HOST_MIN_MAX(unsigned long long)
KSCC_HOST_MIN_MAX(float)
KSCC_HOST_MIN_MAX(double)

/* Cache-hinted stores: clang keeps the header that declares them out. */
template <class T> static inline __attribute__((device)) void __stcs(T *p, T v)
{
    *p = v;
}
template <class T> static inline __attribute__((device)) void __stcg(T *p, T v)
{
    *p = v;
}
template <class T> static inline __attribute__((device)) void __stwb(T *p, T v)
{
    *p = v;
}
template <class T> static inline __attribute__((device)) void __stwt(T *p, T v)
{
    *p = v;
}
/* Cache-hinted loads of the types that clang's header leaves out. */
#define KSCC_HINTED_LOAD(name)                                                                                                   \
    template <class T> static inline __attribute__((device)) T name(const T *p)                                                  \
    {                                                                                                                            \
        return *p;                                                                                                               \
    }
KSCC_HINTED_LOAD(__ldca)
KSCC_HINTED_LOAD(__ldcg)
KSCC_HINTED_LOAD(__ldcs)
KSCC_HINTED_LOAD(__ldcv)
KSCC_HINTED_LOAD(__ldlu)

/* Builtin atomics of toolkit 12.8 and later. */
#define KSCC_ATOMIC(name)                                                                                                        \
    template <class T, class U, class... R> static inline __attribute__((device)) T name(T *p, U v, R...)                        \
    {                                                                                                                            \
        T old = *p;                                                                                                              \
        *p = old + (T)v;                                                                                                         \
        return old;                                                                                                              \
    }
KSCC_ATOMIC(__nv_atomic_fetch_add)
KSCC_ATOMIC(__nv_atomic_fetch_sub)
KSCC_ATOMIC(__nv_atomic_fetch_min)
KSCC_ATOMIC(__nv_atomic_fetch_max)
KSCC_ATOMIC(__nv_atomic_fetch_and)
KSCC_ATOMIC(__nv_atomic_fetch_or)
KSCC_ATOMIC(__nv_atomic_fetch_xor)
KSCC_ATOMIC(__nv_atomic_exchange_n)
template <class T, class... R> static inline __attribute__((device)) T __nv_atomic_load_n(T *p, R...)
{
    return *p;
}
template <class T, class U, class... R> static inline __attribute__((device)) void __nv_atomic_store_n(T *p, U v, R...)
{
    *p = v;
}
template <class T, class... R>
static inline __attribute__((device)) bool __nv_atomic_compare_exchange_n(T *p, T *expected, T v, R...)
{
    bool same = *p == *expected;
    *(same ? p : expected) = same ? v : *p;
    return same;
}
template <class... R> static inline __attribute__((device)) void __nv_atomic_thread_fence(R...)
{
}
static inline __attribute__((device)) float __tanhf(float x)
{
    return x;
}

#endif
