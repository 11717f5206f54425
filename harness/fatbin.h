#ifndef KS_HARNESS_FATBIN_H
#define KS_HARNESS_FATBIN_H

/* Reads PTX out of the fat binary that nvcc puts into an object (section .nv_fatbin) or that a program registers at start.
 * Layout: a container header, then entries {kind, header size, payload size, flags}; PTX entries are plain text, zstd or LZ4. */

#include "base/err.h"
#include "base/str.h"

/* One container at `data`; len 0: trusted memory of the running program, sizes taken from the headers.  Chooses the PTX with the
 * highest architecture not above `sm` (90 for sm_90a); 0: the highest.  Appends the text. Errors: KS_ERR_NOT_FOUND no PTX inside,
 * KS_ERR_SYNTAX not a fat binary, KS_ERR_UNSUPPORTED compressed otherwise. */
KS_NODISCARD enum ks_code ks_fatbin_ptx(const void *data, size_t len, int sm, struct ks_str *out, struct ks_err *err);

/* Relocatable code after its link: `linked` is the link's own container, `parts` the containers it was made of (NULL at the end).
 * Where the first has no PTX, the parts' PTX is joined into one module: later headers are left out, file numbers kept apart. */
KS_NODISCARD enum ks_code ks_fatbin_ptx_linked(const void *linked, const void *const *parts, int sm, struct ks_str *out,
                                               struct ks_err *err);

#endif
