#include "harness/contract.h"

/* Names, sizes and kinds of the contract's element types: one row each in dtype.def. */

struct dtype_row {
    const char *text;
    size_t size_bytes;
    bool is_float;
};

static const struct dtype_row rows[KS_N_DTYPES] = {
#define X(name, text, size_bytes, is_float) {text, size_bytes, is_float},
#include "harness/dtype.def"
#undef X
};

const char *ks_dtype_text(enum ks_dtype t)
{
    KS_BUG(t >= KS_N_DTYPES);
    return rows[t].text;
}

size_t ks_dtype_size(enum ks_dtype t)
{
    KS_BUG(t >= KS_N_DTYPES);
    return rows[t].size_bytes;
}

bool ks_dtype_is_float(enum ks_dtype t)
{
    KS_BUG(t >= KS_N_DTYPES);
    return rows[t].is_float;
}
