#ifndef KS_HARNESS_ROOFLINE_H
#define KS_HARNESS_ROOFLINE_H

/* Where a call stands under the roofline of its device: what the contract's bytes (or its `work` line) and the operations would
 * take at the device's ceilings (harness/emulated/arch.def says per SM and clock, with its sources; on a GPU the driver says SMs,
 * clocks and bus), beside the time that the original takes. */

#include "base/json.h"
#include "harness/contract.h"

/* device: the session's device object; kernels: counters, NULL: none; time_ns: 0: not known.  Caller frees; NULL: the device is
 * in no table.
 *   entry, shape, bytes, ops, memory_ns, compute_ns, roof_ns, bound ("memory" or "compute"), intensity (operations a byte),
 *   time_ns and reached (roof_ns over it) where the time is known, ceiling {board, source, dram_gbs, fp32_gflops, ...} */
struct ks_json *ks_roofline(const struct ks_contract *c, const struct ks_shape *point, const struct ks_json *device,
                            const struct ks_json *kernels, double time_ns);

#endif
