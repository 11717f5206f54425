// One kernel per expression type: out[op][i] = op(a[i], b[i], c[i]).
#define OPS(T, ...)                                                                                   \
    {                                                                                                 \
        int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;                                         \
        if (i >= n)                                                                                   \
            return;                                                                                   \
        T a = pa[i], b = pb[i], c = pc[i];                                                            \
        (void)a, (void)b, (void)c;

extern "C" __global__ void ops_i32(const int *pa, const int *pb, const int *pc, int *out, int n)
OPS(int)
#define I32(name, expr) out[k++ * n + i] = (expr);
#include "ops.def"
}
extern "C" __global__ void ops_u32(const unsigned *pa, const unsigned *pb, const unsigned *pc, unsigned *out, int n)
OPS(unsigned)
#define U32(name, expr) out[k++ * n + i] = (expr);
#include "ops.def"
}
extern "C" __global__ void ops_i64(const long long *pa, const long long *pb, const long long *pc, long long *out, int n)
OPS(long long)
#define I64(name, expr) out[k++ * n + i] = (expr);
#include "ops.def"
}
extern "C" __global__ void ops_u64(const unsigned long long *pa, const unsigned long long *pb, const unsigned long long *pc, unsigned long long *out, int n)
OPS(unsigned long long)
#define U64(name, expr) out[k++ * n + i] = (expr);
#include "ops.def"
}
extern "C" __global__ void ops_f32(const float *pa, const float *pb, const float *pc, float *out, int n)
OPS(float)
#define F32(name, expr, ulp) out[k++ * n + i] = (expr);
#include "ops.def"
}
extern "C" __global__ void ops_f64(const double *pa, const double *pb, const double *pc, double *out, int n)
OPS(double)
#define F64(name, expr, ulp) out[k++ * n + i] = (expr);
#include "ops.def"
}
