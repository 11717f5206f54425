#include "rewriter/actions_table.h"

#include <math.h>
#include <string.h>

/* The largest integer that a JSON number carries exactly. */
#define MAX_INTEGER   9007199254740991.0
#define MAX_ARGUMENTS 32

enum param_type { TYPE_TEXT, TYPE_INTEGER, TYPE_NUMBER, TYPE_BOOLEAN, TYPE_LAYER };
enum param_need { NEED_REQUIRED, NEED_OPTIONAL };

/* A row: a tool (name2 is NULL), or an argument of the tool above it. */
struct row {
    const char *name, *description;
    bool is_param;
    enum param_type type;
    enum param_need need;
};
static const struct row rows[] = {
#define ACTION(action_name, text)                  {.name = #action_name, .description = text},
#define PARAM(param_name, kind, when_needed, text) {#param_name, text, true, TYPE_##kind, NEED_##when_needed},
#include "rewriter/actions.def"
#undef ACTION
#undef PARAM
};
static const size_t n_rows = sizeof rows / sizeof *rows;

/* Index of the tool's own row. */
static size_t row_of(enum ks_action_id id)
{
    int seen = -1;
    for (size_t i = 0; i < n_rows; i++)
        if (!rows[i].is_param && ++seen == (int)id)
            return i;
    KS_BUG(true);
}

enum ks_action_id ks_action_find(const char *name)
{
    int seen = -1;
    for (size_t i = 0; name && i < n_rows; i++)
        if (!rows[i].is_param && (seen++, strcmp(rows[i].name, name) == 0))
            return (enum ks_action_id)seen;
    return KS_N_ACTS;
}

const char *ks_action_name(enum ks_action_id id)
{
    return rows[row_of(id)].name;
}

/* ---- schemas -------------------------------------------------------------------------------------------------------- */

static struct ks_json *param_schema(const struct row *p)
{
    static const char *const names[] = {[TYPE_TEXT] = "string",
                                        [TYPE_INTEGER] = "integer",
                                        [TYPE_NUMBER] = "number",
                                        [TYPE_BOOLEAN] = "boolean",
                                        [TYPE_LAYER] = "string"};
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "type", names[p->type]);
    ks_json_set_str(j, "description", p->description);
    if (p->type == TYPE_LAYER) {
        struct ks_json *layers = ks_json_array();
        for (int i = 0; i < KS_N_LAYERS; i++)
            ks_json_push(layers, ks_json_string(ks_layer_text((enum ks_layer)i)));
        ks_json_set(j, "enum", layers);
    }
    return j;
}

static struct ks_json *schema(enum ks_action_id id)
{
    struct ks_json *j = ks_json_object(), *properties = ks_json_object(), *required = ks_json_array();
    ks_json_set_str(j, "type", "object");
    for (size_t i = row_of(id) + 1; i < n_rows && rows[i].is_param; i++) {
        ks_json_set(properties, rows[i].name, param_schema(&rows[i]));
        if (rows[i].need == NEED_REQUIRED)
            ks_json_push(required, ks_json_string(rows[i].name));
    }
    ks_json_set(j, "properties", properties);
    ks_json_set(j, "required", required);
    ks_json_set_bool(j, "additionalProperties", false);
    return j;
}

struct ks_json *ks_actions_table(bool with_ask, bool with_shell)
{
    struct ks_json *all = ks_json_array();
    for (int i = 0; i < KS_N_ACTS; i++) {
        if ((i == KS_ACT_ask && !with_ask) || (i == KS_ACT_shell && !with_shell))
            continue;
        struct ks_json *j = ks_json_object();
        ks_json_set_str(j, "name", rows[row_of((enum ks_action_id)i)].name);
        ks_json_set_str(j, "description", rows[row_of((enum ks_action_id)i)].description);
        ks_json_set(j, "inputSchema", schema((enum ks_action_id)i));
        ks_json_push(all, j);
    }
    return all;
}

/* ---- checks --------------------------------------------------------------------------------------------------------- */

static bool fits(enum param_type type, const struct ks_json *v)
{
    double number = ks_json_num(v, NAN);
    enum ks_layer layer;
    switch (type) {
    case TYPE_TEXT:
        return ks_json_is_string(v);
    case TYPE_INTEGER:
        return fabs(number) <= MAX_INTEGER && floor(number) == number;
    case TYPE_NUMBER:
        return isfinite(number);
    case TYPE_BOOLEAN:
        return ks_json_is_bool(v);
    case TYPE_LAYER:
        return ks_json_is_string(v) && ks_layer_parse(ks_json_str(v), &layer);
    }
    return false;
}

static void expected(enum param_type type, struct ks_str *out)
{
    switch (type) {
    case TYPE_TEXT:
        ks_str_add(out, "a string");
        break;
    case TYPE_INTEGER:
        ks_str_add(out, "an integer");
        break;
    case TYPE_NUMBER:
        ks_str_add(out, "a number");
        break;
    case TYPE_BOOLEAN:
        ks_str_add(out, "true or false");
        break;
    case TYPE_LAYER:
        ks_str_add(out, "one of");
        for (int i = 0; i < KS_N_LAYERS; i++)
            ks_str_addf(out, "%s %s", i ? "," : "", ks_layer_text((enum ks_layer)i));
        break;
    }
}

static const struct row *find_param(size_t tool, const char *name)
{
    for (size_t i = tool + 1; name && i < n_rows && rows[i].is_param; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

const char *ks_action_check(enum ks_action_id id, const struct ks_json *arguments, struct ks_str *out)
{
    size_t tool = row_of(id);
    if (arguments && !ks_json_is_object(arguments)) {
        ks_str_addf(out, "the arguments of '%s' must be a JSON object", rows[tool].name);
        return ks_str_cstr(out);
    }
    if (ks_json_len(arguments) > MAX_ARGUMENTS) {
        ks_str_addf(out, "'%s' takes no %zu arguments", rows[tool].name, ks_json_len(arguments));
        return ks_str_cstr(out);
    }
    for (size_t i = 0; i < ks_json_len(arguments); i++) {
        const char *name = ks_json_key(ks_json_at(arguments, i));
        if (!find_param(tool, name)) {
            ks_str_addf(out, "'%s' has no argument '%.80s'", rows[tool].name, name ? name : "");
            return ks_str_cstr(out);
        }
    }
    for (size_t i = tool + 1; i < n_rows && rows[i].is_param; i++) {
        const struct ks_json *v = ks_json_get(arguments, rows[i].name);
        bool given = v && !ks_json_is_null(v); /* some models send null for what they leave out */
        if (given ? fits(rows[i].type, v) : rows[i].need == NEED_OPTIONAL)
            continue;
        ks_str_addf(out, "argument '%s' of '%s' %s: expected ", rows[i].name, rows[tool].name,
                    given ? "has the wrong type" : "is missing");
        expected(rows[i].type, out);
        return ks_str_cstr(out);
    }
    return NULL;
}
