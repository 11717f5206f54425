#ifndef KS_DRIVER_RECORDED_H
#define KS_DRIVER_RECORDED_H

/* A recording (harness/record) as the workload of a unit that has no contract.
 *
 * The unit's kernels are looked for by mangled name among the launches, instances of templates by what their names say.  A call is what the launches of one kernel have in common
 * that can be told when it is launched: grid, block, dynamic shared memory and every number among the arguments.  For each call
 * worth it ks_recorded_draft() writes a launching entry and its contract, whose buffers are the recorded ones; the text of the
 * unit without the bodies of functions of the host, with these behind it, is what is judged and searched (ks_recorded_hollow).
 * The object keeps the user's host code as nvcc compiled it: emission leads launches of that call to the candidate
 * (ks_recorded_redirect).
 *
 * Calls that are left out say why. */

#include "analyzer/facts.h"
#include "base/json.h"
#include "driver/unit.h"

struct ks_recorded_call {
    const struct ks_kernel *kernel;
    const char *symbol;           /* mangled: of a template it tells the instance */
    const char *arguments;        /* "<float, 4>": of the instance; NULL: the kernel is no template */
    const char *entry;            /* of the drafted text */
    const struct ks_json *launch; /* a launch that was recorded with its buffers */
    uint32_t grid[3], block[3];
    int64_t shared_bytes;
    double ns;    /* of all launches of this call, as far as the sample tells */
    double share; /* of all time in kernels */
    int64_t n_launches;
    const char *refused; /* why it has no entry; NULL: it has */
};

struct ks_recorded {
    struct ks_recorded_call *calls; /* the most time first */
    size_t n;
    double ns;         /* of the whole recording */
    double ns_of_unit; /* of the unit's kernels */
    struct ks_json *owner;
};

/* Arena: ret's texts.  Errors: KS_ERR_NOT_FOUND: no recording there; KS_ERR_SYNTAX. */
KS_NODISCARD enum ks_code ks_recorded_read(const char *dir, const struct ks_facts *facts, struct ks_arena *arena,
                                           struct ks_recorded *ret, struct ks_err *err);
void ks_recorded_release(struct ks_recorded *r);

/* u: its settings name the recording.  Appends entry and contract of every call that can be one, and sets `refused` of the others.  for_people: a contract to keep,
 * without the recording's contents, whose sizes are told by integer arguments.  Else the weight of the one timing point is the
 * call's share of all time in kernels. */
void ks_recorded_draft(const struct ks_unit *u, const struct ks_facts *facts, struct ks_recorded *r, bool for_people,
                       struct ks_arena *arena, struct ks_str *out);

/* The unit's text without the bodies of host functions that no kernel needs; no line moves. */
void ks_recorded_hollow(const struct ks_facts *facts, struct ks_str *out);

#endif
