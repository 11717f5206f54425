#ifndef KS_DRIVER_FINGERPRINT_H
#define KS_DRIVER_FINGERPRINT_H

/* A hash of everything that nvcc would turn into an object: two builds of equal fingerprints make the same object, nvcc's names
 * of temporary files aside.  It is taken by asking, not by remembering: the preprocessor runs on every pass each time, so that a
 * header that changed, came up earlier on the path or is named by a macro shows in its output, whatever times the files carry.
 *
 *   nvcc --dryrun        the programs that nvcc would run, with all their words: flags, variables, profile
 *   nvcc -M --keep       what its preprocessor makes for the host and for every architecture, and the files it read
 *   gcc -###             the same of the host compiler
 *   crt/host_runtime.h   the one header that is read later, preprocessed by the last command's words
 *   stat                 those programs themselves: device, inode, size, times of contents and of the inode
 *   variables            that compilers read
 *
 * The portable hash is for other machines (portable.h): equal there when the same programs would make the same of the same text.
 *
 * What cannot be known in this way is refused (KS_ERR_UNSUPPORTED): words that make a program read or write other files,
 * assembler text that includes one, a compiler that was replaced a moment ago. */

#include "base/err.h"
#include "base/str.h"

#include <time.h>

/* line: as ks_cmdline_build_argv() makes it, "... -c INPUT -o OUTPUT ..."; input_index: of INPUT; root: ks_root_of().  rule: gets
 * the make rule of `nvcc -M`.  Errors: KS_ERR_UNSUPPORTED, KS_ERR_BUILD (nvcc or its preprocessor fails), KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_fingerprint(char *const *line, size_t input_index, const char *root, char ret_hex[65],
                                         char ret_portable[65], struct ks_str *rule, struct ks_err *err);

/* Appends what tells a program of this machine from what was there before: path, device, inode, size, times of contents and of
 * the inode.  ret_changed: the latter.  Errors: KS_ERR_NOT_FOUND. */
KS_NODISCARD enum ks_code ks_fingerprint_stat(const char *path, struct ks_str *out, time_t *ret_changed, struct ks_err *err);

/* ---- what is refused (fingerprint_words.c) -------------------------------------------------------------------------- */

/* Splits a line of `nvcc --dryrun` at blanks outside "..." and takes quotes away.  Appends. */
void ks_fingerprint_split(const char *line, struct ks_args *out);
/* Whether the program reads its input and what that includes, writes its output, and nothing else.  Errors: KS_ERR_UNSUPPORTED.
 */
KS_NODISCARD enum ks_code ks_fingerprint_check_line(const struct ks_args *words, struct ks_err *err);
/* Whether preprocessed text has assembler in it that reads files.  Errors: KS_ERR_UNSUPPORTED. */
KS_NODISCARD enum ks_code ks_fingerprint_check_text(const char *text, struct ks_err *err);

#endif
