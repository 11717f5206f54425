#include "driver/signature.h"

#include <string.h>

static enum ks_param_kind int_kind(const struct ks_type *t)
{
    switch (t->size_bytes) {
    case 1:
        return t->is_unsigned ? KS_PARAM_U8 : KS_PARAM_I8;
    case 2:
        return t->is_unsigned ? KS_PARAM_U16 : KS_PARAM_I16;
    case 4:
        return t->is_unsigned ? KS_PARAM_U32 : KS_PARAM_I32;
    case 8:
        return t->is_unsigned ? KS_PARAM_U64 : KS_PARAM_I64;
    }
    return KS_PARAM_UNSUPPORTED;
}

static bool is_stream(const struct ks_type *t)
{
    return (t->canonical && strstr(t->canonical, "CUstream_st")) || (t->spelling && strstr(t->spelling, "cudaStream_t"));
}

static enum ks_param_kind param_kind(const struct ks_type *t)
{
    switch (t->kind) {
    case KS_TYPE_POINTER:
        return is_stream(t) ? KS_PARAM_STREAM : KS_PARAM_POINTER;
    case KS_TYPE_INT:
        return int_kind(t);
    case KS_TYPE_BOOL:
        return KS_PARAM_U8;
    case KS_TYPE_FLOAT:
        return KS_PARAM_F32;
    case KS_TYPE_DOUBLE:
        return KS_PARAM_F64;
    case KS_TYPE_VOID:
    case KS_TYPE_HALF:
    case KS_TYPE_BF16:
    case KS_TYPE_ARRAY:
    case KS_TYPE_RECORD:
    case KS_TYPE_OTHER:
        return is_stream(t) ? KS_PARAM_STREAM : KS_PARAM_UNSUPPORTED;
    }
    return KS_PARAM_UNSUPPORTED;
}

static bool int_dtype(const struct ks_type *t, enum ks_dtype *ret)
{
    static const struct {
        int64_t size;
        bool is_unsigned;
        enum ks_dtype dtype;
    } rows[] = {{1, false, KS_DT_INT8},  {1, true, KS_DT_UINT8},  {2, false, KS_DT_INT16}, {2, true, KS_DT_UINT16},
                {4, false, KS_DT_INT32}, {4, true, KS_DT_UINT32}, {8, false, KS_DT_INT64}, {8, true, KS_DT_UINT64}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].size == t->size_bytes && rows[i].is_unsigned == t->is_unsigned) {
            *ret = rows[i].dtype;
            return true;
        }
    return false;
}

bool ks_signature_dtype(const struct ks_type *t, enum ks_dtype *ret)
{
    switch (t->kind) {
    case KS_TYPE_HALF:
        *ret = KS_DT_HALF;
        return true;
    case KS_TYPE_BF16:
        *ret = KS_DT_BF16;
        return true;
    case KS_TYPE_FLOAT:
        *ret = KS_DT_FLOAT;
        return true;
    case KS_TYPE_DOUBLE:
        *ret = KS_DT_DOUBLE;
        return true;
    case KS_TYPE_INT:
        return int_dtype(t, ret);
    case KS_TYPE_BOOL:
        *ret = KS_DT_UINT8;
        return true;
    case KS_TYPE_VOID:
    case KS_TYPE_POINTER:
    case KS_TYPE_ARRAY:
    case KS_TYPE_RECORD:
    case KS_TYPE_OTHER:
        return false;
    }
    return false;
}

static struct ks_param param_of(const struct ks_symbol *s)
{
    const struct ks_type *t = s->type;
    struct ks_param p = {.name = s->name, .kind = t ? param_kind(t) : KS_PARAM_UNSUPPORTED, .spelling = t ? t->spelling : "?"};
    if (p.kind == KS_PARAM_POINTER && t->element) {
        p.pointee_known = ks_signature_dtype(t->element, &p.pointee);
        p.pointee_bytes = t->element->size_bytes > 0 ? (size_t)t->element->size_bytes : 0;
        p.pointee_const = t->element->is_const;
    }
    return p;
}

void ks_signature_of(const struct ks_entry *entry, struct ks_arena *arena, struct ks_signature *ret)
{
    struct ks_param *params = KS_ARENA_ARRAY(arena, struct ks_param, entry->n_params);
    for (size_t i = 0; i < entry->n_params; i++)
        params[i] = param_of(entry->params[i]);
    const struct ks_type *r = entry->result;
    *ret = (struct ks_signature){
        .entry = entry->name,
        .symbol = entry->mangled,
        .params = params,
        .n_params = entry->n_params,
        .returns_void = !r || r->kind == KS_TYPE_VOID,
        .returns_int = r && r->kind == KS_TYPE_INT && r->size_bytes == 4,
    };
}

void ks_signature_of_function(const struct ks_node *function, struct ks_arena *arena, struct ks_signature *ret)
{
    struct ks_param *params = KS_ARENA_ARRAY(arena, struct ks_param, function->n_children + 1);
    size_t n = 0;
    for (size_t i = 0; i < function->n_children; i++)
        if (function->children[i] && function->children[i]->kind == KS_NODE_PARAM && function->children[i]->symbol)
            params[n++] = param_of(function->children[i]->symbol);
    *ret = (struct ks_signature){.entry = function->name, .params = params, .n_params = n, .returns_void = true};
}
