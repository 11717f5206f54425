#ifndef KS_BASE_REDACT_H
#define KS_BASE_REDACT_H

/* Secrets taken out of what is written down or shown to somebody: traces, logs, prompts.  A secret is
 *  - the value of an environment variable whose name says so (a word KEY, TOKEN, SECRET, PASSWORD... between underscores), read
 *    at the first call, eight bytes or longer;
 *  - a text handed to ks_redact_add(), such as a key read from a file;
 *  - what has the form of one: provider keys ("sk-...", "ghp_...", "AKIA..."), bearer tokens, JSON web tokens, private keys in
 *    PEM, passwords in URLs.
 * Each becomes "[redacted]".  It errs on the side of taking out; it cannot know a secret that looks like any word. */

#include "base/json.h"
#include "base/str.h"

#define KS_REDACTED "[redacted]"

/* Remembers one more secret for the life of the process; shorter than four bytes: left alone. */
void ks_redact_add(const char *secret);
/* Appends `len` bytes of text to out without its secrets. */
void ks_redact(const char *text, size_t len, struct ks_str *out);
/* Copy of `j` in which every string, and every member's name, went through ks_redact().  Caller frees. */
struct ks_json *ks_redact_json(const struct ks_json *j);

#endif
