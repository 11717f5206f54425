#ifndef KS_HARNESS_HOST_TEXT_H
#define KS_HARNESS_HOST_TEXT_H

/* What the host compiler really read: its preprocessed input, which it leaves beside the object (-save-temps=obj), taken apart
 * into tokens.  A second parser (libclang) would see another text than the compiler does, since a text can tell the two apart
 * (`#ifdef __clang__`); here macros and conditions are resolved, device functions have lost their bodies, and what is left is
 * what becomes host code.  Two things are looked for, which the object does not tell:
 *   - assembly: statements, at file scope or in a function, and labels that give a declaration another name.  nvcc's own that
 * holds the device code, empty ones (barriers for the compiler), and labels as the C library's headers have them are passed over;
 *   - cudaGetDriverEntryPoint, by which any function of the driver can be had: a call with one of the names in
 *     harness/allow_driver.def, written out, is passed over, and so are declarations.
 *   - on the unit's own lines: names of kernels' stubs but as nvcc calls them there, "{ __device_stub_...(", and the words in
 * harness/refuse_words.def, by which code looks around instead of at its arguments. Everything else is kept, token by token; a
 * candidate may have what the original has too. */

#include "base/err.h"
#include "base/str.h"

struct ks_host_text {
    struct ks_args remarkable; /* "asm volatile ( "rdtsc" : ... )" */
    bool names_stub;           /* the unit's own lines have a function that is named like a kernel's stub, or its address */
};

/* own: the unit, as its lines are named in the text.  Errors: KS_ERR_NOT_FOUND when the compiler left no such file, KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_host_text_read(const char *path, const char *own, struct ks_host_text *ret, struct ks_err *err);
/* A line of the text as its author wrote it that gives what follows another file's name: #line, or a line marker. */
bool ks_host_text_renames(const char *source, size_t len);
/* The same of a text; for tests. */
void ks_host_text_scan(const char *text, size_t len, const char *own, struct ks_host_text *ret);
void ks_host_text_release(struct ks_host_text *t);
/* True when the candidate has nothing that the original has not, else `reason` is appended to. */
bool ks_host_text_check(const struct ks_host_text *original, const struct ks_host_text *candidate, struct ks_str *reason);

#endif
