#ifndef KS_DRIVER_LOOKED_H
#define KS_DRIVER_LOOKED_H

/* A unit opened by a command that looks at it and compiles nothing: "kscc analyze FILE.cu nvcc-options". */

#include "analyzer/facts.h"
#include "driver/cmdline.h"
#include "driver/unit.h"

struct ks_looked {
    struct ks_arena arena;
    struct ks_settings settings;
    struct ks_args words;
    struct ks_cmdline cmdline;
    struct ks_unit unit;
    struct ks_facts *facts; /* after ks_look_parse() */
    bool json;              /* --json was among the words */
};

/* The words after the command's name are read as nvcc would read them; argv[0] plays nvcc's own name.  False: said.  Release in
 * either case. */
KS_NODISCARD bool ks_look(char *const *argv, struct ks_looked *l);
/* Fills l->facts; warnings and errors of the source are said. */
KS_NODISCARD bool ks_look_parse(struct ks_looked *l);
void ks_looked_release(struct ks_looked *l);

#endif
