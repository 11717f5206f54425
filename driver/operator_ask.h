#ifndef KS_DRIVER_OPERATOR_ASK_H
#define KS_DRIVER_OPERATOR_ASK_H

#include "driver/search.h"

/* A question that somebody asks for between decision points: {"layer", "text"}, of `layer` (KS_N_LAYERS: any), or {} when none
 * fits.  The search remembers that it was put, so that it is not put again at once.  Caller frees. */
struct ks_json *ks_operator_question(struct ks_search *s, enum ks_layer layer);

#endif
