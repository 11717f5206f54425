#ifndef KS_HARNESS_EMULATED_RT_RT_H
#define KS_HARNESS_EMULATED_RT_RT_H

/* Inside of our libcudart.so.13: one process, one emulated device, everything under one lock, every operation complete when the
 * call returns (a legal execution of the asynchronous interface).  A fault is sticky as on a GPU: every later call returns it.
 *
 * Work on streams is a struct rt_op (op.h): run at once, or put into a graph while its stream is captured. */

#include "harness/emulated_rt/kscc_emu.h"

#include <cuda_runtime_api.h>

void rt_lock(void);
void rt_unlock(void);
/* The device, made on first use; NULL: could not be made (the error is set).  Call with the lock held. */
struct ks_emu *rt_emu(void);
const struct ks_emu_card *rt_card(void);
cudaError_t rt_sticky(void);                                           /* the sticky error, or cudaSuccess */
cudaError_t rt_last_error_exchange(cudaError_t e);                     /* the thread's last error */
extern __thread bool rt_per_thread_default;                            /* inside of a _ptds or _ptsz function */
cudaError_t rt_return(cudaError_t e);                                  /* remembers a failure for cudaGetLastError */
cudaError_t rt_from_code(enum ks_code code, const struct ks_err *err); /* maps; sticky ones are made so and reported */
double rt_now_ns(void);                                                /* modelled time since the device was made */
void rt_count_launch(void);
/* A call that this device does not have: remembers why (kscc_emu_error) and says it where KSCC_EMU_EXPLAIN is set. */
cudaError_t rt_refuse(const char *function, const char *reason);
void rt_error_note(const char *text);            /* a call's error that is no fault of the device */
cudaError_t rt_error_of_fault(const char *kind); /* error.c: kind of a finding */
const char *rt_error_driver_name(int code);      /* NULL: the driver knows no such error */

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
/* A finding of another kind, during a call. */
void rt_call_finding(const char *kind, const char *text);
void rt_order_findings(struct ks_json *list);
void rt_order_clear(void);

/* registry.c, module.c: kernels, variables and the modules they come from.  Lock held. */
#define RT_SHARED_DEFAULT (48u << 10)
struct rt_module;
struct rt_kernel {
    const void *host; /* address of the host stub; NULL: found by name */
    char *name;
    struct rt_module *module;
    size_t dynamic_shared_limit; /* cudaFuncAttributeMaxDynamicSharedMemorySize */
    int preferred_carveout;
    bool non_portable_cluster;
    bool limit_set, cluster_set; /* by the program */
    int required_cluster[3];
};
/* `image`: fat binary, its wrapper, or NUL-terminated PTX; read now (a copy of PTX is kept) and loaded on first use. */
struct rt_module *rt_module_new(const void *image, bool registered);
struct rt_module *rt_module_find(const void *handle); /* NULL: not one */
cudaError_t rt_module_load(struct rt_module *m);      /* no error when loaded before */
struct ks_emu_module *rt_module_loaded(struct rt_module *m);
void rt_module_free(struct rt_module *m);
cudaError_t rt_module_kernel(struct rt_module *m, const char *name, struct rt_kernel **ret_kernel);
size_t rt_module_kernel_count(struct rt_module *m);
const char *rt_module_kernel_name(struct rt_module *m, size_t i);
cudaError_t rt_modules_load_all(void); /* managed variables need their module before the first access */
struct rt_kernel *rt_kernel_add(struct rt_module *m, const void *host, const char *name);
struct rt_kernel *rt_kernel_find(const void *host_or_kernel);
void rt_kernels_forget(struct rt_module *m);
struct rt_kernel *rt_kernel_named(struct rt_module *m, const char *name);             /* known already, else NULL */
cudaError_t rt_kernel_module(struct rt_kernel *k, struct ks_emu_module **ret_module); /* loads it on first use */
/* What calls before have set of kernels may be anything they can have set: it is changed, in a way that harms no launch. */
void rt_kernels_unsettle(unsigned call);
cudaError_t rt_kernel_info(const void *function, struct rt_kernel **ret_kernel, struct ks_emu_func_info *ret_info);
void rt_module_told(struct rt_module *m); /* just loaded: registers and managed variables of what was registered */
/* Device address and size of a registered variable's host shadow. */
cudaError_t rt_variable(const void *symbol, void **ret_address, size_t *ret_size);

/* memory.c: allocations as the program sees them. */
enum rt_memory { RT_MEMORY_DEVICE, RT_MEMORY_PINNED, RT_MEMORY_MANAGED, RT_MEMORY_REGISTERED };
struct rt_allocation {
    void *base; /* in the emulated device */
    void *host; /* what the program calls it: base, or the registered host range */
    size_t size_bytes;
    enum rt_memory kind;
    unsigned flags;
    struct rt_pool *pool;
};
cudaError_t rt_allocate(void **ret_p, size_t size, enum rt_memory kind, unsigned flags, enum rt_api call);
cudaError_t rt_release(void *p, enum rt_api call);       /* lock held */
struct rt_allocation *rt_allocation_find(const void *p); /* around p; NULL: none */
bool rt_on_device(const void *p);
/* The default stream of a call: NULL, or the thread's own inside of a _ptds/_ptsz function. */
cudaStream_t rt_default_stream(cudaStream_t stream);

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
