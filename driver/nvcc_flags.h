#ifndef KS_DRIVER_NVCC_FLAGS_H
#define KS_DRIVER_NVCC_FLAGS_H

/* nvcc's option grammar as a table (nvcc_flags.def).  What it must get right: which words are options, and which words are the
 * value of the option before them, because a value may look like an option ("-o -c").  A word that matches no row is "not
 * understood": kscc then runs plain nvcc. */

#include <stdbool.h>
#include <stddef.h>

enum ks_flag_form { KS_FORM_NONE, KS_FORM_VALUE, KS_FORM_OPTIONAL, KS_FORM_LIST, KS_FORM_JOINED, KS_FORM_JOINED_LIST };

#define KS_FLAG_PHASE      0x0001u /* selects the phase at which nvcc stops */
#define KS_FLAG_QUERY      0x0002u /* asks nvcc something: nothing is compiled for keeps */
#define KS_FLAG_OUTPUT     0x0004u /* names an output */
#define KS_FLAG_DEPS       0x0008u /* dependency file: belongs to the baseline run only */
#define KS_FLAG_INPUT_LANG 0x0010u /* -x */
#define KS_FLAG_ARCH       0x0020u /* architectures */
#define KS_FLAG_RDC        0x0040u /* relocatable device code */
#define KS_FLAG_OPAQUE     0x0080u /* makes the agent stand aside */
#define KS_FLAG_HIDDEN     0x0100u /* nvcc takes it, --help does not list it */
#define KS_FLAG_NOISE      0x0200u /* changes logs, temporary files or parallelism, not the object: left out of candidate builds */
#define KS_FLAG_PARSE      0x0400u /* changes what the analyzer sees (analyzer/args.c) */
#define KS_FLAG_FILES      0x0800u /* --options-file */
#define KS_FLAG_FORWARD    0x1000u /* unknown words go to the host tools */
#define KS_FLAG_CCBIN      0x2000u /* host compiler */
#define KS_FLAG_HOST       0x4000u /* gcc and g++ read the short name (and a long one that is spelled the same) as well */

struct ks_flag {
    const char *long_name;
    const char *short_name; /* "": none */
    enum ks_flag_form form;
    unsigned bits;
};

extern const struct ks_flag ks_flags[];
extern const size_t ks_n_flags;

/* Finds the row for an option word.  *ret_value: the value inside the word ("=x" or glued), NULL when there is none; for a row
 * that takes values the caller then takes the next word.  NULL: no option of nvcc's. */
const struct ks_flag *ks_flag_match(const char *word, const char **ret_value);
bool ks_flag_takes_value(const struct ks_flag *flag);
/* Whether the word after the option is its value when none is inside the word itself; next: that word, NULL at the end. */
bool ks_flag_eats_next(const struct ks_flag *flag, const char *next);
bool ks_flag_is_list(const struct ks_flag *flag);
bool ks_flag_is(const struct ks_flag *flag, const char *long_name);

#endif
