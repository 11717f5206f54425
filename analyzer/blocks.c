/* What the launches tell about the accesses of a kernel: how many dimensions its blocks have, and how large they are. */

#include "analyzer/kernels.h"
#include "analyzer/poly.h"

struct block_shape {
    bool launched;
    bool several[3]; /* more than one thread in this dimension, as far as is known */
    int64_t dims[3]; /* the same constant in every launch; 0: not known */
};

static struct block_shape shape_of(const struct ks_kernel *k, const struct ks_launch *launches, size_t n_launches)
{
    struct block_shape s = {0};
    for (size_t i = 0; i < n_launches; i++) {
        if (launches[i].kernel != k)
            continue;
        for (int d = 0; d < 3; d++) {
            int64_t value = 0;
            bool is_const = ks_poly_is_const(&launches[i].block_dims[d], &value);
            s.several[d] |= !is_const || value > 1;
            s.dims[d] = !is_const || (s.launched && s.dims[d] != value) ? 0 : value;
        }
        s.launched = true;
    }
    for (int d = 0; d < 3 && !s.launched; d++)
        s.several[d] = k->uses_thread & (KS_THREAD_X << d);
    return s;
}

/* Every term but those of threadIdx.x and loops moves by whole 16-byte units; blockDim counts as its constant. */
static bool is_aligned16(const struct ks_access *a, const struct block_shape *s)
{
    if (!a->bytes.known || !a->buffer)
        return false;
    for (size_t i = 0; i < a->bytes.n_terms; i++) {
        const struct ks_term *t = &a->bytes.terms[i];
        bool skip = false;
        uint64_t unit = (uint64_t)t->coef;
        for (size_t k = 0; k < t->n_factors; k++) {
            enum ks_var_kind kind = t->factors[k].kind;
            skip |= kind == KS_VAR_THREAD_X || kind == KS_VAR_LOOP;
            if (kind >= KS_VAR_BLOCK_DIM_X && kind <= KS_VAR_BLOCK_DIM_Z && s->dims[kind - KS_VAR_BLOCK_DIM_X])
                unit *= (uint64_t)s->dims[kind - KS_VAR_BLOCK_DIM_X];
        }
        if (!skip && unit % 16 != 0)
            return false;
    }
    return true;
}

void ks_accesses_note_blocks(struct ks_kernel *k, const struct ks_launch *launches, size_t n_launches)
{
    struct block_shape s = shape_of(k, launches, n_launches);
    for (int d = 0; d < 3; d++)
        k->block_dim[d] = s.dims[d];
    for (size_t i = 0; i < k->n_accesses; i++) {
        struct ks_access *a = &k->accesses[i];
        a->base_aligned16 = is_aligned16(a, &s);
        for (int d = 0; d < 3; d++)
            a->block_reuse |= a->is_read && !a->is_atomic && s.several[d] && !(a->thread_mask & (KS_THREAD_X << d));
    }
}
