/* Kernels that start before the one before them in the stream has ended (launched with
 * cudaLaunchAttributeProgrammaticStreamSerialization); one wrapper per instruction. */
#pragma once

/* 9.7.13.13 griddepcontrol.launch_dependents: kernels behind this one may take multiprocessors as soon as those are free */
static __device__ __forceinline__ void ks_grid_launch_dependents(void)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/* 9.7.13.13 griddepcontrol.wait: the kernels before this one have ended, and what they wrote is there */
static __device__ __forceinline__ void ks_grid_wait(void)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
