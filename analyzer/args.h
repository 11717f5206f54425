#ifndef KS_ANALYZER_ARGS_H
#define KS_ANALYZER_ARGS_H

/* nvcc's options as libclang needs them: a table says by nvcc's long names what becomes of those that matter to a parse; the
 * others are dropped with their values, so an unknown word never turns into an input file. */

#include "analyzer/facts.h"
#include "base/str.h"

/* Adds the words of one pass over the device code to `out`. */
void ks_clang_args(const struct ks_parse_options *opt, struct ks_args *out);
/* The names in that table, for the test that every one of them is an option of nvcc's. */
size_t ks_clang_option_names(const char *const **ret_names);

#endif
