#include "harness/inputs.h"

#include "harness/contract.h"

#include <string.h>

_Static_assert((int)KS_GEN_NORMAL == (int)KS_DIST_NORMAL && (int)KS_GEN_UNIFORM == (int)KS_DIST_UNIFORM &&
                   (int)KS_GEN_INT == (int)KS_DIST_INT && (int)KS_GEN_CONST == (int)KS_DIST_CONST,
               "distributions as in contract.h");
_Static_assert((int)KS_GEN_HALF == (int)KS_DT_HALF && (int)KS_GEN_DOUBLE == (int)KS_DT_DOUBLE &&
                   (int)KS_GEN_INT8 == (int)KS_DT_INT8 && (int)KS_GEN_UINT64 == (int)KS_DT_UINT64,
               "dtypes as in contract.h");

const char *ks_input_set_text(enum ks_input_set set)
{
    static const char *const text[KS_N_SETS] = {"declared",
                                                "x10",
                                                "shifted",
                                                "tiny",
                                                "spikes",
                                                "equal rows",
                                                "zeros and ones",
                                                "all equal",
                                                "far outside",
                                                "NaN and infinities",
                                                "zeros of both signs and subnormals",
                                                "as recorded"};
    return (unsigned)set < KS_N_SETS ? text[set] : "?";
}

void ks_inputs_generate(const struct ks_input_gen *g, void *data)
{
    for (uint64_t i = 0; i < g->n_elem; i++)
        ks_gen_store(g, i, data);
}

static double half_double(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3ff;
    if (exponent == 0) {
        double v = mantissa * 5.9604644775390625e-8;
        return sign ? -v : v;
    }
    uint32_t u = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

double ks_element_double(uint32_t dtype, const void *data, size_t i)
{
    switch ((enum ks_dtype)dtype) {
    case KS_DT_HALF:
        return half_double(((const uint16_t *)data)[i]);
    case KS_DT_BF16: {
        uint32_t u = (uint32_t)((const uint16_t *)data)[i] << 16;
        float f;
        memcpy(&f, &u, sizeof f);
        return f;
    }
    case KS_DT_FLOAT:
        return ((const float *)data)[i];
    case KS_DT_DOUBLE:
        return ((const double *)data)[i];
    case KS_DT_INT8:
        return ((const int8_t *)data)[i];
    case KS_DT_UINT8:
        return ((const uint8_t *)data)[i];
    case KS_DT_INT16:
        return ((const int16_t *)data)[i];
    case KS_DT_UINT16:
        return ((const uint16_t *)data)[i];
    case KS_DT_INT32:
        return ((const int32_t *)data)[i];
    case KS_DT_UINT32:
        return ((const uint32_t *)data)[i];
    case KS_DT_INT64:
        return (double)((const int64_t *)data)[i];
    case KS_DT_UINT64:
        return (double)((const uint64_t *)data)[i];
    case KS_N_DTYPES:
        break;
    }
    return 0;
}
