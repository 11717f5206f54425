#ifndef KS_DRIVER_SARIF_H
#define KS_DRIVER_SARIF_H

/* Diagnostics as SARIF 2.1.0, the exchange format of static analysis tools: one run, a result for each diagnostic that is no
 * note, the notes after it as its related locations, columns in code points. */

#include "base/diag.h"
#include "base/json.h"

/* source: the text of the file `path`; places in other files are given without columns.  Caller frees. */
struct ks_json *ks_sarif(const struct ks_diags *d, const char *path, const char *source, size_t source_len);

#endif
