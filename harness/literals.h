#ifndef KS_HARNESS_LITERALS_H
#define KS_HARNESS_LITERALS_H

/* Sizes that a candidate may single out, told from the constants of its code (constants.h), the domain's edges, and some that
 * nobody named: what is tried beside the contract's sampled shapes, so that code that is wrong at one size only (`if (n ==
 * 31337)`) has to hide that size to be let in.  What is bounded is drawn from the key; nothing here is complete (HARNESS.md says
 * what remains). */

#include "harness/constants.h"
#include "harness/contract.h"

/* What a size is known by. */
#define KS_LITERAL_KINDS(X)                                                                                                      \
    X(NAMED, "named")   /* a constant that the original's code has not, with either sign */                                      \
    X(NEXT, "beside")   /* one more, one less */                                                                                 \
    X(EDGE, "edge")     /* an end of the domain or beside it, a choice */                                                        \
    X(PAIR, "pair")     /* named in one dim, and in another one named, shared or an edge */                                      \
    X(SCALED, "scaled") /* such a constant times or by an element's size, its root, two of its factors, a few away from it */    \
    X(MADE, "made")     /* made of two such constants */                                                                         \
    X(MIXED, "mixed")   /* made of such a constant and one that the original has, too */                                         \
    X(SHARED, "shared") /* a constant that the original has, too, and beside it */                                               \
    X(FAR, "far")       /* an offset, half a word, four letters of a text */                                                     \
    X(ANY, "any")       /* drawn evenly from a dim's range */
enum ks_literal_kind {
#define X(name, text) KS_LITERAL_##name,
    KS_LITERAL_KINDS(X)
#undef X
        KS_N_LITERAL_KINDS
};
const char *ks_literal_kind_text(enum ks_literal_kind kind);

struct ks_literal {
    enum ks_literal_kind kind;
    size_t n_dims;
    size_t dim[2];
    int64_t value[2];
    uint64_t rank; /* among its kind, from the key */
};

struct ks_literals {
    KS_VEC(struct ks_literal) items; /* in the order in which they are worth trying; no two the same */
    size_t n_of[KS_N_LITERAL_KINDS]; /* how many there are, those left out for their number included, each once */
    size_t n_named_left;             /* named ones for which there was no room */
};

/* At most `most` of them.  Kinds take turns, the first ones more often, so that any number gets some of each. */
void ks_literals_make(const struct ks_contract *c, const struct ks_constants *candidate, const struct ks_constants *original,
                      const uint8_t key[32], size_t most, struct ks_literals *ret);
void ks_literals_release(struct ks_literals *l);
/* The index-th one's shape: the other dims smallest when `smallest`, else drawn and lowered until they fit `bytes`, or smallest
 * where even that is more, up to max_bytes.  False: it does not fit. */
bool ks_literal_shape(const struct ks_contract *c, const struct ks_literal *l, const uint8_t key[32], uint64_t index,
                      bool smallest, size_t bytes, size_t max_bytes, struct ks_shape *ret);

#endif
