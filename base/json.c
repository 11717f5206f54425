#include "base/json.h"

#include "base/diag.h"
#include "base/file.h"
#include "base/limits.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* struct ks_json is never defined: a pointer to it is a cJSON pointer. */
static cJSON *in(const struct ks_json *j)
{
    return (cJSON *)(uintptr_t)j;
}

static struct ks_json *wrap(cJSON *j)
{
    return (struct ks_json *)j;
}

static struct ks_json *made(cJSON *j)
{
    KS_BUG(!j); /* cJSON fails to create only when out of memory */
    return wrap(j);
}

struct ks_json *ks_json_object(void)
{
    return made(cJSON_CreateObject());
}

struct ks_json *ks_json_array(void)
{
    return made(cJSON_CreateArray());
}

struct ks_json *ks_json_string(const char *s)
{
    return s ? made(cJSON_CreateString(s)) : ks_json_null();
}

/* JSON has no NaN or infinity: they become null. */
struct ks_json *ks_json_number(double v)
{
    return isfinite(v) ? made(cJSON_CreateNumber(v)) : ks_json_null();
}

struct ks_json *ks_json_bool(bool v)
{
    return made(cJSON_CreateBool(v));
}

struct ks_json *ks_json_null(void)
{
    return made(cJSON_CreateNull());
}

struct ks_json *ks_json_copy(const struct ks_json *j)
{
    return made(cJSON_Duplicate(in(j), true));
}

void ks_json_free(struct ks_json *j)
{
    cJSON_Delete(in(j));
}

void ks_json_free_p(struct ks_json **j)
{
    cJSON_Delete(in(*j));
}

enum ks_code ks_json_parse(const char *text, size_t len, const char *name, struct ks_json **ret_json, struct ks_err *err)
{
    if (len > KS_MAX_JSON_BYTES)
        return ks_fail(err, KS_ERR_LIMIT, "'%s' is %zu bytes of JSON, the limit is %u", name, len, KS_MAX_JSON_BYTES);
    const char *end = NULL;
    cJSON *j = cJSON_ParseWithLengthOpts(text, len, &end, false);
    size_t at = end ? (size_t)(end - text) : 0;
    if (j) {
        while (at < len && strchr(" \t\r\n", text[at]))
            at++;
        if (at == len || text[at] == '\0') {
            *ret_json = wrap(j);
            return KS_OK;
        }
        cJSON_Delete(j);
    }
    uint32_t line, col;
    ks_offset_to_line_col(text, len, at < len ? at : len, &line, &col);
    return ks_fail_at(err, KS_ERR_SYNTAX, name, line, col, "cannot parse JSON in '%s'", name);
}

enum ks_code ks_json_read_file(const char *path, struct ks_json **ret_json, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_TRY(ks_file_read(path, KS_MAX_JSON_BYTES, &text, err));
    return ks_json_parse(ks_str_cstr(&text), text.len, path, ret_json, err);
}

#define NEEDS_DIGITS 1e15               /* cJSON takes 15 digits for enough when the rest is within a double's epsilon, */
#define EXACT        9007199254740992.0 /* and up to here a double is one whole number */

static bool is_long(const cJSON *j)
{
    double v = fabs(j->valuedouble);
    return cJSON_IsNumber(j) && v >= NEEDS_DIGITS && v <= EXACT && v == floor(v);
}

static bool has_long(const cJSON *j)
{
    bool any = is_long(j);
    for (const cJSON *c = j->child; c && !any; c = c->next)
        any = has_long(c);
    return any;
}

/* Whole numbers with all of their digits. */
static void spell_out(cJSON *j)
{
    char digits[32];
    for (cJSON *c = j->child; c; c = c->next)
        spell_out(c);
    if (!is_long(j))
        return;
    snprintf(digits, sizeof digits, "%lld", (long long)j->valuedouble);
    j->valuestring = cJSON_malloc(sizeof digits);
    KS_BUG(!j->valuestring);
    memcpy(j->valuestring, digits, sizeof digits);
    j->type = cJSON_Raw;
}

static void print(const struct ks_json *j, bool pretty, struct ks_str *out)
{
    cJSON *own = j && has_long(in(j)) ? in(ks_json_copy(j)) : NULL;
    if (own)
        spell_out(own);
    char *text = pretty ? cJSON_Print(own ? own : in(j)) : cJSON_PrintUnformatted(own ? own : in(j));
    cJSON_Delete(own);
    KS_BUG(!text);
    ks_str_add(out, text);
    cJSON_free(text);
}

void ks_json_print(const struct ks_json *j, struct ks_str *out)
{
    print(j, false, out);
}

void ks_json_print_pretty(const struct ks_json *j, struct ks_str *out)
{
    print(j, true, out);
    ks_str_addc(out, '\n');
}

void ks_json_set(struct ks_json *obj, const char *name, struct ks_json *item)
{
    cJSON_DeleteItemFromObjectCaseSensitive(in(obj), name);
    KS_BUG(!cJSON_AddItemToObject(in(obj), name, in(item)));
}

void ks_json_set_str(struct ks_json *obj, const char *name, const char *v)
{
    ks_json_set(obj, name, ks_json_string(v));
}

void ks_json_set_num(struct ks_json *obj, const char *name, double v)
{
    ks_json_set(obj, name, ks_json_number(v));
}

void ks_json_set_i64(struct ks_json *obj, const char *name, int64_t v)
{
    ks_json_set(obj, name, ks_json_number((double)v));
}

void ks_json_set_bool(struct ks_json *obj, const char *name, bool v)
{
    ks_json_set(obj, name, ks_json_bool(v));
}

void ks_json_push(struct ks_json *array, struct ks_json *item)
{
    KS_BUG(!cJSON_AddItemToArray(in(array), in(item)));
}

void ks_json_make_utf8(struct ks_json *j)
{
    cJSON *c = in(j);
    if (c->string)
        ks_make_utf8(c->string, strlen(c->string));
    if (cJSON_IsString(c) && c->valuestring)
        ks_make_utf8(c->valuestring, strlen(c->valuestring));
    for (cJSON *member = c->child; member; member = member->next)
        ks_json_make_utf8(wrap(member));
}

struct ks_json *ks_json_get(const struct ks_json *obj, const char *name)
{
    return obj ? wrap(cJSON_GetObjectItemCaseSensitive(in(obj), name)) : NULL;
}

const char *ks_json_get_str(const struct ks_json *obj, const char *name, const char *fallback)
{
    const char *s = ks_json_str(ks_json_get(obj, name));
    return s ? s : fallback;
}

double ks_json_get_num(const struct ks_json *obj, const char *name, double fallback)
{
    return ks_json_num(ks_json_get(obj, name), fallback);
}

int64_t ks_json_get_i64(const struct ks_json *obj, const char *name, int64_t fallback)
{
    double v = ks_json_num(ks_json_get(obj, name), NAN);
    return v >= -9007199254740992.0 && v <= 9007199254740992.0 ? (int64_t)v : fallback;
}

bool ks_json_get_bool(const struct ks_json *obj, const char *name, bool fallback)
{
    const cJSON *j = in(ks_json_get(obj, name));
    return cJSON_IsBool(j) ? cJSON_IsTrue(j) : fallback;
}

size_t ks_json_len(const struct ks_json *array_or_object)
{
    return array_or_object ? (size_t)cJSON_GetArraySize(in(array_or_object)) : 0;
}

struct ks_json *ks_json_at(const struct ks_json *array_or_object, size_t i)
{
    return array_or_object && i <= INT32_MAX ? wrap(cJSON_GetArrayItem(in(array_or_object), (int)i)) : NULL;
}

const char *ks_json_key(const struct ks_json *member)
{
    return member ? in(member)->string : NULL;
}

const char *ks_json_str(const struct ks_json *j)
{
    return j && cJSON_IsString(in(j)) ? in(j)->valuestring : NULL;
}

double ks_json_num(const struct ks_json *j, double fallback)
{
    return j && cJSON_IsNumber(in(j)) ? in(j)->valuedouble : fallback;
}

bool ks_json_is_object(const struct ks_json *j)
{
    return j && cJSON_IsObject(in(j));
}

bool ks_json_is_array(const struct ks_json *j)
{
    return j && cJSON_IsArray(in(j));
}

bool ks_json_is_string(const struct ks_json *j)
{
    return j && cJSON_IsString(in(j));
}

bool ks_json_is_number(const struct ks_json *j)
{
    return j && cJSON_IsNumber(in(j));
}

bool ks_json_is_bool(const struct ks_json *j)
{
    return j && cJSON_IsBool(in(j));
}

bool ks_json_is_null(const struct ks_json *j)
{
    return j && cJSON_IsNull(in(j));
}
