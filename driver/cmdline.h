#ifndef KS_DRIVER_CMDLINE_H
#define KS_DRIVER_CMDLINE_H

/* nvcc's command line, understood: words, options with their values, inputs.  Where the line is not understood with certainty,
 * `not_understood` says which word and the caller runs plain nvcc.  Nothing here changes what nvcc gets, except
 * that ks_cmdline_nvcc_argv() leaves out the switches of ours. */

#include "driver/nvcc_flags.h"
#include "driver/words.h"

enum ks_lang { KS_LANG_CUDA, KS_LANG_C, KS_LANG_CXX, KS_LANG_OTHER };

struct ks_item {
    const struct ks_flag *flag;
    size_t word;       /* the option */
    size_t value_word; /* the word that holds the value: the option itself or the next one; KS_NO_WORD without value */
    const char *value; /* NULL without value */
};

struct ks_input {
    const char *path;
    size_t word;
    enum ks_lang lang;
};

struct ks_cmdline {
    struct ks_arena *arena;
    char *const *argv; /* as given; argv[0] is not a word */
    struct ks_words words;
    KS_VEC(struct ks_item) items;
    KS_VEC(struct ks_input) inputs;
    bool forwards_unknown;        /* some -forward-unknown-* is present */
    bool has_ours;                /* a switch of ours somewhere */
    const char *not_understood;   /* NULL: all understood */
    const char *prepend, *append; /* NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS, NULL: not set */
};

/* True for the words that are switches of ours: -O-agent, -O-agent=..., --kscc-..., -### */
bool ks_word_is_ours(const char *text);

/* Never fails: what cannot be read or understood is recorded.  argv[0] is skipped.  Arena: everything in *ret but the vectors. */
void ks_cmdline_parse(char *const *argv, const char *prepend, const char *append, struct ks_arena *arena, struct ks_cmdline *ret);
void ks_cmdline_release(struct ks_cmdline *c);

/* Last occurrence of an option by long name, or NULL. */
const struct ks_item *ks_cmdline_find(const struct ks_cmdline *c, const char *long_name);
const char *ks_cmdline_value(const struct ks_cmdline *c, const char *long_name); /* its value or NULL */

/* The line for nvcc: argv[0] = nvcc, then the words of the command line without ours.  env_* get the new text of NVCC_*_FLAGS,
 * and *ret_env_changed whether they differ from what is set. */
void ks_cmdline_nvcc_argv(const struct ks_cmdline *c, const char *nvcc, struct ks_args *out, struct ks_str *prepend,
                          struct ks_str *append, bool *ret_env_changed);

/* One flat line for building something of `input` (an index into inputs): every word expanded (variables and options files
 * included), without ours, the other inputs, outputs, dependency files, phases and noise, then "-c INPUT -o OUTPUT".
 * `input_path`: what stands for the input, NULL: itself.  `arch`: "sm_90a" builds for that architecture alone, machine code and
 * PTX; NULL: as the user says. *ret_input_index: where the input stands in `out`. */
void ks_cmdline_build_argv(const struct ks_cmdline *c, const char *nvcc, size_t input, const char *input_path, const char *arch,
                           const char *output, struct ks_args *out, size_t *ret_input_index);

/* The object file nvcc writes for `input` in a -c phase, relative to the current folder.  Arena: c->arena. */
const char *ks_cmdline_object(const struct ks_cmdline *c, size_t input);

#endif
