#ifndef KS_DRIVER_COMMAND_TASK_H
#define KS_DRIVER_COMMAND_TASK_H

#include "rewriter/agent.h"

/* TASK.md of a workspace: what is wanted, what is promised, how to have a text tried, what is known, what was tried.  It says
 * what holds the entry back and asks; it prescribes nothing.  Appends to out. */
void ks_command_task(const struct ks_agent_view *view, const char *unit, struct ks_str *out);

#endif
