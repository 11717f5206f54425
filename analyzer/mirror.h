#ifndef KS_ANALYZER_MIRROR_H
#define KS_ANALYZER_MIRROR_H

/* The border to libclang: clang.c parses a unit and hands over plain nodes, symbols and types (facts.h) plus what the AST says
 * about each function.  Everything behind this header works on these alone.  Arena: all of it. */

#include "analyzer/facts.h"

struct ks_function {
    struct ks_node *node; /* KS_NODE_FUNCTION; the body is its last child */
    const struct ks_node *body;
    const char *name;
    const char *mangled;
    const struct ks_type *result;
    struct ks_symbol **params;
    size_t n_params;
    bool is_global, is_device, is_host; /* as attributes say; a function without any is a host function */
    bool is_template;
    bool takes_object; /* a member of a class that is not static */
    bool has_launch_bounds;
    bool has_error; /* a parse error lies inside */
};

struct ks_mirror {
    const char *path;
    const char *source;
    size_t source_len;
    struct ks_arena *arena;
    struct ks_function
        *functions; /* defined in the main file, source order; then device functions of the user's headers that it calls */
    size_t n_functions;
    size_t n_errors;
};

KS_NODISCARD enum ks_code ks_mirror_parse(const char *path, const char *source, size_t source_len,
                                          const struct ks_parse_options *opt, struct ks_arena *arena, struct ks_diags *diags,
                                          struct ks_mirror **ret_mirror, struct ks_err *err);

#endif
