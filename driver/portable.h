#ifndef KS_DRIVER_PORTABLE_H
#define KS_DRIVER_PORTABLE_H

/* What of a compilation is the same on another machine: a clone of the repository lies in another folder there, programs have
 * other inodes and times, and people read messages in another language. */

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"

/* The folder that moves as a whole: the work tree of the store's repository, else the folder that the store lies in.  Absolute,
 * without links.  False: there is none that can be told from the file system's root. */
bool ks_root_of(const char *store_dir, struct ks_str *ret);
/* Appends the text with a mark in the place of every mention of root; root "": as it is. */
void ks_root_hide(const char *root, const char *text, size_t len, struct ks_str *out);
/* The reverse. */
void ks_root_show(const char *root, const char *text, size_t len, struct ks_str *out);

/* Adds what tells a program from its other versions: size, and bytes from all over it.  Hashing all of a toolkit would take as
 * long as a compilation; whoever can replace a compiler on purpose needs no store.  Errors: KS_ERR_IO, KS_ERR_NOT_FOUND. */
KS_NODISCARD enum ks_code ks_program_sample(const char *path, struct ks_hash *h, struct ks_err *err);

/* "LANG=C": changes what a compiler says, not what it makes. */
bool ks_variable_is_of_messages(const char *variable);
/* A word of nvcc's line by which the object tells where its sources were: debug information, names for the device link. */
bool ks_word_tells_paths(const char *word);

#endif
