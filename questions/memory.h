#ifndef KS_QUESTIONS_MEMORY_H
#define KS_QUESTIONS_MEMORY_H

/* Private to questions/: what the memory says about a question. */

#include "questions/bank.h"

/* How promising the question is against one nothing is known about: 1 without experience, more after gains, less after none.  The
 * formula is in docs/QUESTIONS.md.  m may be NULL, family too. */
double ks_memory_promise(const struct ks_memory *m, const char *question_id, enum ks_layer layer, const char *family);

#endif
