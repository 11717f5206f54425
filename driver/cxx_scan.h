#ifndef KS_DRIVER_CXX_SCAN_H
#define KS_DRIVER_CXX_SCAN_H

/* The little that can be told of C++ without a parser: where tokens begin and end once comments, literals and preprocessor lines
 * are out of the way, which namespaces a place is in, what a list in angle brackets holds.  libclang's facts have no namespaces,
 * and it shows no instances of function templates. */

#include "base/mem.h"
#include "base/str.h"

struct ks_token {
    size_t begin, end;
    bool is_name; /* identifier or keyword; otherwise one character, or a whole literal */
};

/* The next token at or after *pos, which moves past it.  False at the end. */
bool ks_cxx_next(const char *text, size_t len, size_t *pos, struct ks_token *ret);
bool ks_token_is(const char *text, const struct ks_token *t, const char *word);

/* How often an identifier occurs in the code. */
size_t ks_cxx_count(const char *text, size_t len, const char *name);

/* The namespaces around a place, outermost first, "" for one without a name.  False: the place is inside braces that are no
 * namespace's, a class's for instance. */
bool ks_cxx_scope(const char *text, size_t off, struct ks_args *out);

/* "<float, pair<int, 2>>" or "(int a, int b)" from its opening bracket: the parts between top-level commas, blanks around them
 * taken away.  *ret_end: past the closing bracket.  False: there is none. */
bool ks_cxx_list(const char *text, size_t len, size_t open, struct ks_args *out, size_t *ret_end);

#endif
