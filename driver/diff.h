#ifndef KS_DRIVER_DIFF_H
#define KS_DRIVER_DIFF_H

/* Unified difference of two texts, made by diff(1). */

#include "base/str.h"

/* Appends "--- original\n+++ candidate\n@@ ..."; nothing when the texts are equal.  Without a diff program on PATH a line says
 * so. */
void ks_diff_texts(const char *a, size_t a_len, const char *b, size_t b_len, struct ks_str *out);

#endif
