#ifndef KS_HARNESS_INPUTS_H
#define KS_HARNESS_INPUTS_H

/* Contents of buffers, keyed by the session's secret: nobody who lacks it can foresee them, and with it every call can be
 * repeated. The value of an element is defined in inputs_core.h. */

#include "harness/inputs_core.h"

#include <stddef.h>

const char *ks_input_set_text(enum ks_input_set set);
/* Key of one buffer in one call. */
void ks_inputs_key(const uint8_t secret[32], uint64_t call, uint32_t buffer, uint32_t ret_key[2]);
/* A pseudo-random number below `bound` for choices that the harness makes (poison, seeds, places). */
uint64_t ks_inputs_choice(const uint8_t secret[32], uint64_t call, uint32_t what, uint64_t bound);
/* Fills n_elem elements at `data`. */
void ks_inputs_generate(const struct ks_input_gen *g, void *data);
/* A 32-bit pattern that is NaN as float and as half and differs from call to call. */
uint32_t ks_inputs_poison(const uint8_t secret[32], uint64_t call);

/* Reads element i as a double; dtype is an enum ks_dtype of a floating-point kind. */
double ks_element_double(uint32_t dtype, const void *data, size_t i);

#endif
