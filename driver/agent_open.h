#ifndef KS_DRIVER_AGENT_OPEN_H
#define KS_DRIVER_AGENT_OPEN_H

/* The agent that the settings name, with what it needs of the driver: key, prices, shell, questions, the files it may read. */

#include "driver/search.h"
#include "driver/shell.h"
#include "rewriter/actions.h"

/* Lives as long as the agent. */
struct ks_agent_place {
    const struct ks_unit *unit;
    struct ks_search *search; /* whom to ask for questions; filled before the first proposal */
    const char *conversation; /* file for what is said, beside the search's journal */
    struct ks_action_hooks hooks;
    struct ks_shell shell;
    char *bin_dir; /* owned */
};

/* Errors: KS_ERR_USAGE and what else the agents' own functions give. */
KS_NODISCARD enum ks_code ks_agent_open(struct ks_agent_place *place, struct ks_agent **ret, struct ks_err *err);
/* Whether it has what it needs on this machine; asks no endpoint and runs no program.  Errors: as ks_agent_open(). */
KS_NODISCARD enum ks_code ks_agent_check(const struct ks_settings *s, struct ks_err *err);
void ks_agent_place_release(struct ks_agent_place *place);

/* Absolute paths that an agent's `read` and `search` may open: what the unit includes that is not the system's, and the toolkit's
 * headers. */
void ks_agent_readable(const struct ks_unit *unit, struct ks_args *out);
/* Hooks of a desk: questions from the search, and the shell. */
void ks_agent_hooks(struct ks_agent_place *place);

#endif
