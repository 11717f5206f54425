// matmul_naive and matmul_tiled of tests/emulated/model_kernels.cu in OpenCL, for oclgrind.
kernel void matmul_naive(global const float *a, global const float *b, global float *c, int n)
{
    int r = get_group_id(1) * 32 + get_local_id(1), q = get_group_id(0) * 32 + get_local_id(0);
    float s = 0;
    for (int k = 0; k < n; k++)
        s += a[r * n + k] * b[k * n + q];
    c[r * n + q] = s;
}

kernel void matmul_tiled(global const float *a, global const float *b, global float *c, int n)
{
    local float sa[32][32], sb[32][32];
    int tx = get_local_id(0), ty = get_local_id(1), r = get_group_id(1) * 32 + ty, q = get_group_id(0) * 32 + tx;
    float s = 0;
    for (int t = 0; t < n; t += 32) {
        sa[ty][tx] = a[r * n + t + tx];
        sb[ty][tx] = b[(t + ty) * n + q];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 32; k++)
            s += sa[ty][k] * sb[k][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[r * n + q] = s;
}
