#ifndef KS_HARNESS_EMULATED_RT_RT_H
#define KS_HARNESS_EMULATED_RT_RT_H

/* Inside of our libcudart.so.13: one process, one emulated device, everything under one lock, every operation complete when the
 * call returns (a legal execution of the asynchronous interface).  A fault is sticky as on a GPU: every later call returns it. */

#include "harness/emulated_rt/kscc_emu.h"

#include <cuda_runtime_api.h>

struct rt_card {
    const char *arch, *name;
    int major, minor, sms;
    size_t shared_optin, shared_per_sm;
    int blocks_per_sm, threads_per_sm;
    int l2_bytes;
    size_t memory_bytes;
};

void rt_lock(void);
void rt_unlock(void);
/* The device, made on first use; NULL: could not be made (the error is set).  Call with the lock held. */
struct ks_emu *rt_emu(void);
const struct rt_card *rt_card(void);
cudaError_t rt_sticky(void);                                           /* the sticky error, or cudaSuccess */
cudaError_t rt_return(cudaError_t e);                                  /* remembers a failure for cudaGetLastError */
cudaError_t rt_from_code(enum ks_code code, const struct ks_err *err); /* maps; sticky ones are made so and reported */
double rt_now_ns(void);                                                /* modelled time since the device was made */
void rt_count_launch(void);

/* cost.c: adds the modelled time of one call (api_cost.def).  bus_bytes: moved between host and device; device_bytes: read and
 * written in device memory by an operation on the device, 0: none. */
enum rt_api {
#define A(name, host_us, drains) RT_API_##name,
#include "harness/emulated_rt/api_cost.def"
#undef A
};
void rt_spend(struct ks_emu *emu, enum rt_api call, double bus_bytes, double device_bytes);

/* order.c: who waits for whom, between kscc_emu_call_begin() and _end(); elsewhere these do nothing.  Lock held. */
#define RT_MAX_STREAMS 16
struct rt_clock {
    unsigned call; /* what an earlier call recorded says nothing */
    bool begun;    /* work before the call is complete */
    unsigned seen[RT_MAX_STREAMS];
};
void rt_order_op(cudaStream_t stream, const char *what); /* a launch, copy or set is queued */
struct rt_clock rt_order_record(cudaStream_t stream);    /* what an event recorded now will mean */
void rt_order_wait(cudaStream_t stream, const struct rt_clock *event);
void rt_order_host_waits(const struct rt_clock *event);
void rt_order_host_waits_all(void);
void rt_order_gone(cudaStream_t stream);
void rt_order_findings(struct ks_json *list);
void rt_order_clear(void);

/* Kernels and variables that the program registered.  Lock held. */
struct rt_kernel {
    const void *host; /* address of the host stub */
    char *name;
    struct rt_module *module;
    size_t dynamic_shared_limit; /* cudaFuncAttributeMaxDynamicSharedMemorySize */
    int preferred_carveout;
};
struct rt_kernel *rt_kernel_find(const void *host_or_kernel);
cudaError_t rt_kernel_module(struct rt_kernel *k, struct ks_emu_module **ret_module); /* loads it on first use */
/* Device address and size of a registered variable's host shadow. */
cudaError_t rt_variable(const void *symbol, void **ret_address, size_t *ret_size);
cudaError_t rt_modules_load_all(void); /* managed variables need their module before the first access */

#define RT_BEGIN                                                                                                                 \
    rt_lock();                                                                                                                   \
    struct ks_emu *emu = rt_emu();                                                                                               \
    if (!emu || rt_sticky() != cudaSuccess) {                                                                                    \
        cudaError_t rt_e_ = rt_sticky();                                                                                         \
        rt_unlock();                                                                                                             \
        return rt_return(rt_e_);                                                                                                 \
    }
#define RT_END(e)                                                                                                                \
    do {                                                                                                                         \
        cudaError_t rt_e_ = (e);                                                                                                 \
        rt_unlock();                                                                                                             \
        return rt_return(rt_e_);                                                                                                 \
    } while (0)

#endif
