#include "rewriter/http/api.h"

#include <string.h>

void ks_api_url(const struct ks_api *api, const char *endpoint, struct ks_str *out)
{
    KS_AUTO_STR struct ks_str base = KS_STR_INIT;
    ks_str_add(&base, endpoint);
    while (base.len && base.data[base.len - 1] == '/')
        base.data[--base.len] = '\0';
    const char *text = ks_str_cstr(&base), *slash = strrchr(text, '/');
    bool version = slash && slash[1] == 'v' && slash[2] >= '0' && slash[2] <= '9';
    ks_str_clear(out);
    ks_str_add(out, text);
    if (!ks_str_ends(text, api->path))
        ks_str_addf(out, "%s%s", version ? "" : "/v1", api->path);
}

const char *ks_api_error(const struct ks_json *body)
{
    const struct ks_json *error = ks_json_get(body, "error");
    if (ks_json_is_string(error))
        return ks_json_str(error);
    if (ks_json_is_object(error))
        return ks_json_get_str(error, "message", "an error without a message");
    const char *detail = ks_json_get_str(body, "detail", NULL); /* FastAPI */
    return detail                                                     ? detail
           : ks_streq(ks_json_get_str(body, "object", NULL), "error") ? ks_json_get_str(body, "message", NULL)
                                                                      : NULL;
}

struct ks_json *ks_api_arguments(const struct ks_tool_call *call)
{
    struct ks_json *j = NULL;
    struct ks_err err;
    if (ks_json_parse(ks_str_cstr(&call->arguments), call->arguments.len, "arguments", &j, &err) != KS_OK)
        return ks_json_object();
    if (ks_json_is_object(j))
        return j;
    ks_json_free(j);
    return ks_json_object();
}

int64_t ks_api_count(const struct ks_json *usage, const char *name)
{
    int64_t n = ks_json_get_i64(usage, name, -1);
    return n < 0 ? -1 : n;
}
