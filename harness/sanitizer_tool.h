#ifndef KS_HARNESS_SANITIZER_TOOL_H
#define KS_HARNESS_SANITIZER_TOOL_H

/* compute-sanitizer's tools over a replay file of kscc-worker: run and reported, judged elsewhere (sanitizer.c).  A runner does
 * it for a parent that is elsewhere. */

#include "base/process.h"

#define KS_N_TOOLS 6
enum { KS_TOOL_LEAKS = 4, KS_TOOL_SIZES = 5 };

/* "memcheck", ..; leakcheck is memcheck once more: what it says of leaks must not silence what memcheck says of accesses.
 * So is sizecheck, in a confirmation: over the timing points and the sizes that the code names, where what is written far from
 * every buffer is in no canary. */
const char *ks_tool_name(size_t tool);

struct ks_tool_report {
    bool ran; /* false: `errout` says why not */
    struct ks_exit exit;
    struct ks_str out, errout;
};

struct ks_tools_task {
    const char *sanitizer, *worker;
    const char *replay, *sizes; /* sizes: of sizecheck */
    unsigned mask;              /* of the tools that are wanted */
    bool sealed;
    int64_t timeout_ms;
};

#define KS_TOOL_ERROR_STATUS 86 /* of one that has found something */

/* On PATH, or beside nvcc (a name or a path).  Caller frees. */
bool ks_tool_find(const char *nvcc, char **ret_path);
/* All at once: each is a process of its own that mostly waits for the driver to start.  ret: KS_N_TOOLS, those of the mask are
 * filled in. */
void ks_tools_run(const struct ks_tools_task *task, struct ks_tool_report *ret);
void ks_tool_reports_release(struct ks_tool_report *reports); /* KS_N_TOOLS of them */

#endif
