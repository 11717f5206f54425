#ifndef KS_REWRITER_LAUNCH_H
#define KS_REWRITER_LAUNCH_H

/* Changing a kernel together with its launch: new body, new grid and block, and the host's text for values the kernel knows. */

#include "rewriter/transform.h"

/* What becomes of one launch. */
struct ks_relaunch {
    const char *body; /* new body with its braces, laid out for the file; its first line follows the head on a line of its own */
    const char *suffix;       /* of the new kernel's name, "_tiled", when the old kernel must stay */
    const char *grid, *block; /* host expressions */
    int threads;              /* for __launch_bounds__; 0: none */
};
/* Edits kernel and launch: in place when this launch is the only use of the kernel, else as a new `static` kernel behind the old
 * one. */
void ks_relaunch(const struct ks_rewrite_view *v, const struct ks_launch *l, const struct ks_relaunch *r, struct ks_edits *edits);

/* Replaces grid and block of a launch (NULL: keep) and removes dim3 locals of the entry that nothing uses any more. */
void ks_launch_set_geometry(const struct ks_rewrite_view *v, const struct ks_launch *l, const char *grid, const char *block,
                            struct ks_edits *edits);

/* Name of the place for labels: the kernel, or "kernel#2" for the second launch of it in the entry. */
const char *ks_launch_where(const struct ks_rewrite_view *v, const struct ks_launch *l);

/* A kernel expression over parameters and constants as the host writes it at the launch: parameters become the arguments. */
const char *ks_launch_host_text(const struct ks_facts *f, const struct ks_launch *l, const struct ks_node *expr,
                                struct ks_arena *arena);
/* Text of one dimension (0, 1, 2) of the launch's grid as the user wrote it, with the entry's locals in scope; NULL: not found.
 */
const char *ks_launch_grid_text(const struct ks_facts *f, const struct ks_launch *l, int axis, struct ks_arena *arena);
/* "(EXPR + 127) / 128", with parentheses where EXPR needs them. */
const char *ks_text_ceildiv(const char *expr, int64_t by, struct ks_arena *arena);
/* The text in parentheses unless it is one word or number. */
const char *ks_text_primary(const char *expr, struct ks_arena *arena);

/* Speed-up of the entry when one of its launches gets `gain` times faster: by the profile's share of time where there is one,
 * else as if all launches took the same time. */
double ks_predict_entry(const struct ks_rewrite_view *v, const struct ks_launch *l, double gain);

#endif
