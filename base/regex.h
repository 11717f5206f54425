#ifndef KS_BASE_REGEX_H
#define KS_BASE_REGEX_H

/* Regular expressions (PCRE2, UTF off, match limit KS_MAX_REGEX_MATCHES).  Subjects are (pointer, length). */

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_regex;

/* flags: any of "imsx" as in Perl, or "".  Errors: KS_ERR_SYNTAX with the pattern's offset in the message. */
KS_NODISCARD enum ks_code ks_regex_new(const char *pattern, const char *flags, struct ks_regex **ret_re, struct ks_err *err);
/* For a pattern and subjects of anybody's: all matches of it together look at `work` bytes or so and no more, then each is
 * KS_ERR_LIMIT.  PCRE2's own limit counts anew wherever a match may begin, and not the length of a step. */
KS_NODISCARD enum ks_code ks_regex_new_bounded(const char *pattern, int64_t work, struct ks_regex **ret_re, struct ks_err *err);
void ks_regex_free(struct ks_regex *re);

struct ks_match {
    size_t n;         /* groups set, group 0 included */
    size_t begin[16]; /* byte offsets; SIZE_MAX: group not set */
    size_t end[16];
};
/* Sets *ret_found.  Errors: KS_ERR_LIMIT when the match limit is hit. */
KS_NODISCARD enum ks_code ks_regex_match(const struct ks_regex *re, const char *subject, size_t len, size_t from,
                                         struct ks_match *ret_match, bool *ret_found, struct ks_err *err);

#endif
