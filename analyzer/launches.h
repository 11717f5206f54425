#ifndef KS_ANALYZER_LAUNCHES_H
#define KS_ANALYZER_LAUNCHES_H

/* Host side: entries, their launches, and what launches hand over to each other. */

#include "analyzer/mirror.h"

/* Fills entries and launches of f; kernels are there already. */
void ks_launches_derive(const struct ks_mirror *m, struct ks_facts *f);
void ks_handovers_derive(const struct ks_mirror *m, struct ks_facts *f);

#endif
