#ifndef KS_HARNESS_CONSTANTS_H
#define KS_HARNESS_CONSTANTS_H

/* The integers that stand in an object's code: what a size would be compared with by code that treats it unlike others.  Read
 * from what was built, so that nothing a text does to its constants (macros, hexadecimal, products, sizeof) hides them: operands
 * of the host's instructions, operands of PTX, words of constant data of both sides, whole numbers among floating-point ones.
 * What is computed at run time from several constants is not here as a value, its parts are (literals.h puts them together
 * again). */

#include "base/str.h"
#include "harness/object.h"

struct ks_constants {
    KS_VEC(int64_t) near; /* operands and tables of words; sorted, each once */
    KS_VEC(int64_t) far;  /* what else there is and is mostly no size: offsets of addresses, halves of words, texts */
};

void ks_constants_read(const struct ks_object *o, struct ks_constants *ret);
void ks_constants_release(struct ks_constants *c);
/* Sorts and makes single, after values were pushed by hand. */
void ks_constants_settle(struct ks_constants *c);
/* PTX alone, unsettled; for ks_constants_read and tests. */
void ks_constants_ptx(const char *ptx, struct ks_constants *out);
/* Is v among the near ones? */
bool ks_constants_near(const struct ks_constants *c, int64_t v);

#endif
