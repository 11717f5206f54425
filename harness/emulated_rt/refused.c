/* The functions that answer "not supported", by the table refused.def.  They are defined without their parameters, which nobody
 * reads, so the interface's headers are not included here. */

#define OTHER_API "memory and semaphores of other interfaces (OpenGL, EGL, Vulkan, Direct3D, NvSci) are not emulated"
#define IPC       "memory and events are not shared between processes"
#define INTERNAL  "an interface between NVIDIA's own libraries"
#define LOGS      "the emulated device reports on stderr and in kscc's findings"
#define SPARSE    "sparse and planar arrays are not emulated"
#define UNIFIED   "functions have no common address for host and device"
#define NOTIFY    "nothing is notified, and processes are not checkpointed"
#define PEERS     "there is one device"
#define TEXREF    "removed from CUDA's headers; texture objects and cuLaunchKernel take its place"
#define GREEN     "the device is not partitioned"
#define GRAPHS    "this part of the driver's graphs is not emulated; the runtime's graphs are"
#define VALUES    "work on a stream is complete when the call returns, so a stream does not wait for a value"
#define IM2COL    "im2col tensor maps are not emulated"
#define OLD       "a form that cuda.h no longer uses"
#define RARE      "not emulated"

int rt_refuse(const char *function, const char *reason);

#define R(name, reason)                                                                                                          \
    int name(void);                                                                                                              \
    int name(void)                                                                                                               \
    {                                                                                                                            \
        return rt_refuse(#name, reason);                                                                                         \
    }
#include "harness/emulated_rt/refused.def"
