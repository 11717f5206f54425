#ifndef KS_HARNESS_PTX_FACTS_H
#define KS_HARNESS_PTX_FACTS_H

/* What the PTX of a build says about its kernels: what the compiler made of the text.  Read by the parser of the emulated device,
 * on every device. */

#include "base/json.h"

/* Gives each object of `kernels` (member "name": mangled) a member "ptx", and appends an object with these two alone for each
 * kernel that has none yet.  PTX that cannot be parsed adds nothing.  Members of "ptx", counts of instructions in the text:
 *   loads, stores                  of global memory (or of one not named)
 *   vector_loads, vector_stores    of these, with v2, v4 or v8
 *   widest_load_bytes              of one lane; 0: no loads
 *   local_bytes, local_accesses    local memory of a thread before registers are given out, and its loads and stores
 *   tensor                         mma, wmma, wgmma, tcgen05.mma
 *   fp64                           arithmetic in double precision
 *   integer_divisions              div and rem of integers
 *   calls                          of functions of the unit, not inlined
 *   max_threads, min_blocks        of its launch bounds; 0: none */
void ks_ptx_facts_add(struct ks_json *kernels, const char *ptx, size_t len);

#endif
