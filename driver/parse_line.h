#ifndef KS_DRIVER_PARSE_LINE_H
#define KS_DRIVER_PARSE_LINE_H

/* What the analyzer gets of nvcc's line: options by their long names, read by the one table of nvcc's options (nvcc_flags.def),
 * and what nvcc and its host compiler say about themselves. */

#include "analyzer/facts.h"
#include "driver/unit.h"

/* The options of a flat line (argv[0] first, options files and variables expanded); replaces ret->words.  Arena: the words. */
void ks_parse_line(char *const *argv, struct ks_arena *arena, struct ks_parse_options *ret);
/* All that a parse needs: the options of `argv`, the toolkit, its host compiler (a host compiler that does not answer is left
 * out: libclang then looks for itself), the shim.  cuda_path: without "/bin/..".  Arena: all of *ret. */
void ks_parse_options_of(char *const *argv, const char *cuda_path, const char *toolkit_version, struct ks_arena *arena,
                         struct ks_parse_options *ret);
void ks_unit_parse_options(const struct ks_unit *u, struct ks_parse_options *ret);

#endif
