#ifndef KS_DRIVER_WORDS_H
#define KS_DRIVER_WORDS_H

/* The words nvcc would read, in its order: NVCC_PREPEND_FLAGS, the command line, NVCC_APPEND_FLAGS, with options files expanded
 * in place.  Every word remembers where it came from, so that a switch of ours can be taken out of exactly that place. */

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdbool.h>

enum ks_word_source { KS_WORD_PREPEND, KS_WORD_ARGV, KS_WORD_APPEND };
#define KS_NO_WORD ((size_t)-1)

struct ks_word {
    const char *text;
    enum ks_word_source source;
    size_t begin, end;  /* bytes of the variable or file the word was read from; 0,0 on the command line */
    size_t file_option; /* word index of the --options-file it came out of, KS_NO_WORD: none */
    bool ours;          /* a switch of kscc: nvcc never sees it */
    bool opened;        /* --options-file whose text holds a switch of ours: nvcc gets the words instead of the file */
};

struct ks_words {
    struct ks_word *data;
    size_t n;
    size_t cap;
};

/* nvcc's grammar of options files: blanks and ends of lines separate; "..." and \ quote and are taken away, \" is nothing at all,
 * but a quote behind \\ stays; '...' and # are no quotes.  Appends to `out`; texts live in `arena`.  False: a quote or a \ at the
 * end is left open, and nvcc compiles nothing. */
KS_NODISCARD bool ks_words_split_file(const char *text, size_t len, enum ks_word_source source, size_t file_option,
                                      struct ks_arena *arena, struct ks_words *out);
/* The grammar of NVCC_*_FLAGS is another one: spaces and tabs separate; "..." protects them, with \ escaping inside; what is read
 * stays as it stands, like a word of the command line. */
void ks_words_split_env(const char *text, enum ks_word_source source, struct ks_arena *arena, struct ks_words *out);
/* Inserts `more` after word `at`. */
void ks_words_insert(struct ks_words *w, size_t at, const struct ks_words *more);
void ks_words_release(struct ks_words *w);
/* Splits an option's list value at commas; "..." and \ protect, [...] does too.  Each part keeps its quotes.  Arena: *ret_parts.
 */
size_t ks_list_split(const char *value, struct ks_arena *arena, const char ***ret_parts);

#endif
