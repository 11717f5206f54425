#ifndef KS_DRIVER_AGENT_COMMAND_H
#define KS_DRIVER_AGENT_COMMAND_H

/* The agent that is a coding agent's command-line program (--kscc-agent=command:PRESET).  It runs in a workspace of its own with
 * the source, the contract, a TASK.md, and kscc on PATH; what it tries there comes back over a socket and is judged here, by the
 * search that it serves.  See workspace.h for the walls around it.
 *
 * When it ends by itself after it has tried something, that counts as saying that nothing is left: where a question comes back it
 * is started once more, with the question in its TASK.md. */

#include "driver/agent_operator.h"

/* Reads the preset and looks for the program; nothing runs before the first proposal is wanted.  facts about the entry for
 * TASK.md are taken from the first view.  Errors: KS_ERR_NOT_FOUND, KS_ERR_SYNTAX. */
KS_NODISCARD enum ks_code ks_agent_command_new(const char *preset, const char *unit_path, struct ks_agent **ret,
                                               struct ks_err *err);
/* As ks_agent_operator_attach(), for this kind; nothing for others. */
void ks_agent_command_attach(struct ks_agent *agent, struct ks_trace *trace, struct ks_search *search);
/* After ks_search_run(): ends the program and answers its last try; nothing for others. */
void ks_agent_command_end(struct ks_agent *agent);

#endif
