#ifndef KS_ANALYZER_ARGS_H
#define KS_ANALYZER_ARGS_H

/* nvcc's words as libclang needs them: a table says per nvcc option what becomes of it.  Words that do not matter to a parse are
 * dropped with their values, so an unknown word never turns into an input file. */

#include "analyzer/facts.h"
#include "base/str.h"

/* Adds the words of one pass over the device code to `out`. */
void ks_clang_args(const struct ks_parse_options *opt, struct ks_args *out);

#endif
