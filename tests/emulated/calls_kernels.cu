// Calls: recursion, mutual recursion, function pointers, large frames.

__device__ __noinline__ int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
extern "C" __global__ void recursion(int *out)
{
    out[threadIdx.x] = fib(threadIdx.x % 13);
}

__device__ __noinline__ int odd(int n, int *steps);
__device__ __noinline__ int even(int n, int *steps)
{
    ++*steps;
    return n == 0 ? 1 : odd(n - 1, steps);
}
__device__ __noinline__ int odd(int n, int *steps)
{
    ++*steps;
    return n == 0 ? 0 : even(n - 1, steps);
}
extern "C" __global__ void mutual(int *out)
{
    int steps = 0, e = even(threadIdx.x, &steps);
    out[threadIdx.x] = e * 1000 + steps;
}

__device__ double power(double x, int n)
{
    if (n == 0)
        return 1;
    double half = power(x, n / 2);
    return n & 1 ? half * half * x : half * half;
}
extern "C" __global__ void powers(double *out)
{
    double (*volatile f)(double, int) = power;
    out[threadIdx.x] = f(1.5, threadIdx.x);
}

__device__ __noinline__ void sort(int *v, int n)
{
    if (n < 2)
        return;
    int pivot = v[n / 2], i = 0, j = n - 1;
    while (i <= j) {
        while (v[i] < pivot)
            i++;
        while (v[j] > pivot)
            j--;
        if (i <= j) {
            int t = v[i];
            v[i++] = v[j];
            v[j--] = t;
        }
    }
    sort(v, j + 1);
    sort(v + i, n - i);
}
extern "C" __global__ void sorts(int *data, int n)
{
    sort(data + threadIdx.x * n, n);
}

extern "C" __global__ void endless(int *out)
{
    struct F {
        static __device__ __noinline__ int go(int n)
        {
            int big[100];
            for (int i = 0; i < 100; i++)
                big[i] = n + i;
            return go(n + 1) + big[n % 100];
        }
    };
    out[0] = F::go(0);
}

typedef int (*op)(int, int);
__device__ int add(int a, int b)
{
    return a + b;
}
__device__ int sub(int a, int b)
{
    return a - b;
}
__device__ int mul(int a, int b)
{
    return a * b;
}
__device__ op table[3] = {add, sub, mul};
extern "C" __global__ void pointers(int *out)
{
    int i = threadIdx.x;
    out[i] = table[i % 3](i, 7);
}
struct shape {
    __device__ virtual int area(int s) const = 0;
};
struct square : shape {
    __device__ int area(int s) const override
    {
        return s * s;
    }
};
struct strip : shape {
    __device__ int area(int s) const override
    {
        return 3 * s;
    }
};
extern "C" __global__ void virtuals(int *out)
{
    square a;
    strip b;
    const shape *s = threadIdx.x & 1 ? (const shape *)&a : (const shape *)&b;
    out[threadIdx.x] = s->area(threadIdx.x);
}
extern "C" __global__ void clocks(unsigned long long *out)
{
    unsigned long long a, b;
    long long c = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(a));
    __nanosleep(5000);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(b));
    out[0] = a;
    out[1] = b;
    out[2] = clock64() - c;
}
