#ifndef KS_DRIVER_AGENT_REPLAY_H
#define KS_DRIVER_AGENT_REPLAY_H

/* The agent `file:DIR`: a person or a tool has written whole candidate texts, DIR holds them, and they are proposed in name
 * order.  A line
 *
 *   // kscc-propose: LAYER GAIN HYPOTHESIS            // kscc-propose: data-movement 1.5 scores are written and read once each
 *
 * in the text states the bottleneck and the predicted speed-up; a text without one is proposed without a statement, and so is not
 * tried. */

#include "rewriter/agent.h"

KS_NODISCARD enum ks_code ks_agent_replay_new(const char *dir, struct ks_agent **ret, struct ks_err *err);

#endif
