#ifndef KS_HARNESS_PTX_JOIN_H
#define KS_HARNESS_PTX_JOIN_H

/* Relocatable PTX of several files as one text, as nvlink would join their machine code: one header, lines numbered by file
 * apart, names with linkage (.visible, .weak, .common, .extern) as they are, names of one file only ($str, ...) made different
 * where another file has them too. */

#include "base/str.h"

struct ks_ptx_join {
    struct ks_args names; /* variables and functions of the parts before */
    unsigned files, n_parts;
};

void ks_ptx_join(struct ks_ptx_join *j, const char *part, struct ks_str *out);
void ks_ptx_join_release(struct ks_ptx_join *j);

#endif
