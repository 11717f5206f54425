/* clang's CUDA wrapper includes this header of cuRAND before every unit, and a toolkit made of NVIDIA's wheels has no cuRAND.  The
 * folder comes last on libclang's search path, so a toolkit that has the header is read with its own.  Nothing of it is wanted
 * but what its use of a builtin leaves behind: a declaration in a system header instead of at the user's first call. */
extern "C" __device__ void __syncthreads(void);
