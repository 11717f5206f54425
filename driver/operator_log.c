#include "driver/operator_log.h"

#include "base/file.h"
#include "base/limits.h"

#include <string.h>

/* What a kill left of a last line is cut off: the next line would run into it. */
static enum ks_code cut_off(const char *path, struct ks_str *text, struct ks_err *err)
{
    size_t len = text->len;
    while (len && text->data[len - 1] != '\n')
        len--;
    if (len == text->len)
        return KS_OK;
    text->len = len;
    text->data[len] = '\0';
    return ks_file_write_atomic(path, text->data, len, 0600, err);
}

enum ks_code ks_operator_log_open(const char *path, struct ks_operator_log *ret, struct ks_err *err)
{
    KS_VEC(struct ks_json *) lines = {0};
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    *ret = (struct ks_operator_log){0};
    if (!path)
        return KS_OK;
    if (!ks_file_exists(path)) /* arguments hold the user's source: nobody else's business */
        KS_TRY(ks_file_write_atomic(path, "", 0, 0600, err));
    KS_TRY(ks_file_read(path, KS_MAX_JSON_BYTES, &text, err));
    KS_TRY(cut_off(path, &text, err));
    enum ks_code code = KS_OK;
    for (const char *p = ks_str_cstr(&text), *end; code == KS_OK && (end = strchr(p, '\n')); p = end + 1) {
        struct ks_json *j;
        code = ks_json_parse(p, (size_t)(end - p), path, &j, err);
        if (code == KS_OK)
            ks_vec_push(&lines, j);
    }
    *ret = (struct ks_operator_log){ks_xstrdup(path), lines.data, lines.n};
    if (code != KS_OK)
        ks_operator_log_release(ret);
    return code;
}

void ks_operator_log_release(struct ks_operator_log *log)
{
    for (size_t i = 0; i < log->n; i++)
        ks_json_free(log->lines[i]);
    free(log->lines);
    free(log->path);
    *log = (struct ks_operator_log){0};
}

enum ks_code ks_operator_log_add(const struct ks_operator_log *log, struct ks_json *line, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *given = line;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (!log->path)
        return KS_OK;
    ks_json_print(given, &text);
    return ks_file_append_line(log->path, ks_str_cstr(&text), err);
}

enum ks_code ks_operator_log_end(const struct ks_operator_log *log, const char *how, const char *candidate, struct ks_err *err)
{
    struct ks_json *line = ks_json_object();
    ks_json_set_str(line, how, candidate);
    return ks_operator_log_add(log, line, err);
}

const char *ks_operator_log_ended(const struct ks_operator_log *log, size_t i)
{
    if (i + 1 >= log->n)
        return NULL;
    return ks_json_get_str(log->lines[i + 1], "done", NULL)        ? "done"
           : ks_json_get_str(log->lines[i + 1], "cancelled", NULL) ? "cancelled"
                                                                   : NULL;
}
