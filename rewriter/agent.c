#include "rewriter/agent.h"

#include <stdlib.h>

void ks_proposal_release(struct ks_proposal *p)
{
    if (!p)
        return;
    free(p->hypothesis);
    free(p->transform);
    free(p->source);
    ks_json_free(p->log);
    ks_json_free(p->conversation);
    *p = (struct ks_proposal){.layer = KS_N_LAYERS, .parent = KS_PARENT_BEST};
}
