#ifndef KS_HARNESS_EMULATED_RT_KSCC_EMU_H
#define KS_HARNESS_EMULATED_RT_KSCC_EMU_H

/* What our libcudart.so.13 exports beside NVIDIA's documented runtime interface: the worker's handle on the emulated device under
 * it. Found with dlsym; a plain user program never calls these.
 *
 * Without the worker the device is configured from the environment: KSCC_EMU_ARCH (default sm_90a), KSCC_EMU_CHECKS
 * (all or bounds; default bounds), KSCC_EMU_THREADS, KSCC_EMU_SEED, KSCC_EMU_SUMS (hardware or exact: enum ks_emu_sums).
 * Findings then go to stderr when a kernel faults and at exit.
 * KSCC_EMU_COUNTERS names a folder: each process that ends leaves its counters there, as <process id>.json:
 * {"program", "device", "modelled": true, "modelled_ns", "kernels": ks_emu_counters()}. */

#include "harness/emulated/emu.h"

/* Creates the device (arch) or reconfigures it.  Returns 0 or an enum ks_code; the text is kscc_emu_error(). */
int kscc_emu_configure(const struct ks_emu_config *config);
const char *kscc_emu_error(void); /* what broke the device or the last configuration; "" when nothing did */
int kscc_emu_failed(void);        /* enum ks_code of the sticky device error, 0: none */
void kscc_emu_quiet(void);        /* findings are asked for, not printed */
void kscc_emu_reset_errors(void);
struct ks_emu *kscc_emu_device(void);
void kscc_emu_set_registers(const char *kernel, int registers); /* applies to modules loaded later, too */
char *kscc_emu_findings(void);                                  /* JSON text, caller frees */
char *kscc_emu_counters(void);
/* Around a call of an entry that was given `stream` (NULL: none, or the default stream): work that is not ordered with that
 * stream becomes a finding, `stream-order`. */
void kscc_emu_call_begin(void *stream);
void kscc_emu_call_end(void);
double kscc_emu_modelled_ns(void); /* since the last clear */
void kscc_emu_clear(void);         /* findings and counters */
int kscc_emu_launches(void);       /* kernels launched since the last clear */
void *kscc_emu_malloc(size_t size_bytes, const char *name);
/* off_byte behind a multiple of align_bytes (a power of two). */
void *kscc_emu_malloc_at(size_t size_bytes, size_t align_bytes, size_t off_byte, const char *name);
int kscc_emu_free(void *p);
void kscc_emu_declare_input(void *p); /* kernels only read it */
size_t kscc_emu_live_bytes(void);
int kscc_emu_write(void *dst, const void *src, size_t n);
int kscc_emu_read(void *dst, const void *src, size_t n);
void kscc_emu_poison(void *dst, size_t n, uint32_t pattern);

#endif
