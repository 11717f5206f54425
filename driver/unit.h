#ifndef KS_DRIVER_UNIT_H
#define KS_DRIVER_UNIT_H

/* One .cu and its command line, with everything read that does not depend on an entry.  Lives in the unit arena. */

#include "driver/cmdline.h"
#include "driver/nvcc.h"
#include "driver/options.h"

struct ks_unit {
    struct ks_arena *arena;
    const struct ks_cmdline *cmdline;
    const struct ks_settings *settings;
    size_t input;       /* index into cmdline->inputs */
    const char *path;   /* the .cu as the user wrote it */
    const char *object; /* baseline object */
    const char *source; /* text of the .cu */
    size_t source_len;
    const char *text_path; /* a file of the same name that holds `source` when `path` holds another text by now; NULL: path */
    struct ks_toolkit toolkit;
    const char *cuda_path;     /* toolkit root without "/bin/.." */
    const char *toolkit_path;  /* the same, links resolved: which toolkit it is, by whatever name */
    struct ks_args build_argv; /* flat line that compiles the unit (ks_cmdline_build_argv) */
    size_t input_index;        /* the .cu in build_argv */
    struct ks_args includes;   /* what it includes, as nvcc -M names it; filled by ks_unit_hash() */
    char included_hash[65];    /* of every file it includes; "" until ks_unit_hash() */
    char variables_hash[65];   /* of the variables that nvcc reads as flags */
    const char *rule;          /* what nvcc -M says of the unit, when somebody has asked already; NULL: ks_unit_hash() asks */
};

/* Reads the source and asks nvcc about itself.  Errors: KS_ERR_NOT_FOUND, KS_ERR_IO, KS_ERR_LIMIT, KS_ERR_UNSUPPORTED. */
KS_NODISCARD enum ks_code ks_unit_open(const struct ks_cmdline *c, const struct ks_settings *s, const char *nvcc, size_t input,
                                       struct ks_arena *arena, struct ks_unit *ret, struct ks_err *err);
void ks_unit_close(struct ks_unit *u);

/* Hash of what nvcc would compile: source, every file it includes, flags, the variables that nvcc reads as flags, toolkit.  Hex.
 * Its parts stay in *u. */
KS_NODISCARD enum ks_code ks_unit_hash(struct ks_unit *u, char ret_hex[65], struct ks_err *err);

/* The next file of a make rule, from behind its colon: *p moves on.  False at the end. */
bool ks_rule_next(const char **p, struct ks_str *name);

/* For a text that lies elsewhere: it still includes "what lies beside the unit". */
void ks_unit_add_own_folder(const struct ks_unit *u, struct ks_args *argv);

/* Highest architecture the flags name ("sm_90a"), or "" for nvcc's default. */
void ks_unit_arch(const struct ks_unit *u, char *ret, size_t size);

#endif
