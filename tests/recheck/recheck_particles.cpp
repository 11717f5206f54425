#include "recheck.h"

struct particle; /* only its name is part of the symbol */
void particles_step(struct particle *p, const float *force, int n, float dt, cudaStream_t stream);

static void check(int n, float dt, uint64_t seed)
{
    RC_SHAPE("n=%d dt=%g seed %llu", n, dt, (unsigned long long)seed);
    struct rc_rng r = {seed};
    float *p = rc_floats((size_t)n * 8), *force = rc_floats((size_t)n * 3);
    for (size_t i = 0; i < (size_t)n * 8; i++)
        p[i] = (float)rc_uniform(&r, -1, 1);
    for (size_t i = 0; i < (size_t)n * 3; i++)
        force[i] = (float)rc_normal(&r);
    struct rc_buf dp = rc_buf_new("p", (size_t)n * 32, p), df = rc_buf_new("force", (size_t)n * 12, force);
    dp.input = NULL; /* changed on purpose */
    particles_step((struct particle *)dp.p, (const float *)df.p, n, dt, NULL);
    RC_CUDA(cudaGetLastError());
    RC_CUDA(cudaDeviceSynchronize());
    float *after = (float *)rc_buf_read(&dp);
    for (size_t i = 0; i < (size_t)n; i++) {
        const float *o = p + 8 * i, *a = after + 8 * i, *f = force + 3 * i; /* x y z vx vy vz inv_mass drag */
        for (int c = 0; c < 3; c++) {
            double v = o[3 + c] * (1.0 - (double)o[7] * dt) + (double)f[c] * o[6] * dt;
            rc_compare("velocity", 8 * i + 3 + c, a[3 + c], v, 1e-5, 2e-6);
            rc_compare("position", 8 * i + c, a[c], o[c] + v * dt, 1e-5, 2e-6);
        }
        rc_compare("inv_mass", 8 * i + 6, a[6], o[6], 0, 0);
        rc_compare("drag", 8 * i + 7, a[7], o[7], 0, 0);
    }
    rc_buf_free(&dp);
    rc_buf_free(&df);
    free(p);
    free(force);
    free(after);
}

int main(int argc, char **argv)
{
    rc_begin("particles", argc, argv);
    static const int small[] = {1, 2, 31, 255, 256, 257, 1003, 5000};
    static const int large[] = {16777216, 4194304, 16777213, 1000003, 77};
    for (size_t i = 0; i < (rc_large ? sizeof large : sizeof small) / sizeof small[0]; i++) {
        int n = rc_large ? large[i] : small[i];
        check(n, 0.01f, 100 + i);
        check(n, 0.5f, 200 + i); /* the entry takes any time step */
    }
    return rc_end();
}
