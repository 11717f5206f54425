#ifndef KS_DRIVER_STAND_ASIDE_H
#define KS_DRIVER_STAND_ASIDE_H

/* When -O-agent is given but this command line gives the agent nothing to do: nvcc runs alone. */

#include "driver/call.h"
#include "driver/stats.h"

struct ks_stand_aside {
    bool yes;
    enum ks_stat stat; /* what it is counted as */
    const char
        *reason; /* NULL: say nothing, because a build system is only asking the compiler something.  Arena: the cmdline's */
};
struct ks_stand_aside ks_stand_aside(const struct ks_cmdline *c);
/* The same for a call, whether or not it asks for an agent; KS_STAT_PLAIN: it does not. */
struct ks_stand_aside ks_stand_aside_call(const struct ks_call *call);

/* Whether the line compiles and links in one step. */
bool ks_links(const struct ks_cmdline *c);

#endif
