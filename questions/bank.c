#include "questions/bank.h"
#include "base/file.h"
#include "base/limits.h"
#include "questions/condition.h"

#include <glob.h>
#include <string.h>

/* Reads the bank.  The JSON library keeps no positions, so that of a question is found again by its id. */

struct reader {
    struct ks_arena *arena;
    const char *path;
    const char *file;
    struct ks_str text;
    KS_VEC(struct ks_question) questions;
};

static void locate(const struct reader *r, const char *quoted, uint32_t *ret_line, uint32_t *ret_col)
{
    *ret_line = *ret_col = 1;
    const char *at = r->text.len ? memmem(r->text.data, r->text.len, quoted, strlen(quoted)) : NULL;
    if (at)
        ks_offset_to_line_col(r->text.data, r->text.len, (size_t)(at - r->text.data), ret_line, ret_col);
}

static enum ks_code fail_question(const struct reader *r, size_t index, const char *id, struct ks_err *err, const char *what)
{
    uint32_t line, col;
    KS_AUTO_STR struct ks_str quoted = KS_STR_INIT;
    ks_str_addf(&quoted, "\"%s\"", id ? id : "");
    locate(r, id ? quoted.data : "[", &line, &col);
    return ks_fail_at(err, KS_ERR_SYNTAX, r->path, line, col, "cannot read question %zu%s%s%s: %s", index + 1, id ? " '" : "",
                      id ? id : "", id ? "'" : "", what);
}

static bool member_known(const char *key)
{
    static const char *const known[] = {"id", "layer", "kind", "text", "when", "cooldown", "origin"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(key, known[i]) == 0)
            return true;
    return false;
}

static enum ks_code read_question(struct reader *r, size_t index, const struct ks_json *j, struct ks_err *err)
{
    struct ks_question q = {.file = r->file};
    const char *id = ks_json_get_str(j, "id", NULL), *layer = ks_json_get_str(j, "layer", NULL),
               *kind = ks_json_get_str(j, "kind", NULL), *text = ks_json_get_str(j, "text", NULL),
               *origin = ks_json_get_str(j, "origin", NULL);
    if (!ks_json_is_object(j))
        return fail_question(r, index, NULL, err, "expected an object");
    if (!id)
        return fail_question(r, index, NULL, err, "'id' is missing or no string");
    if (!layer || !ks_layer_parse(layer, &q.layer))
        return fail_question(r, index, id, err, "'layer' is missing or no layer");
    bool redirect = kind && strcmp(kind, "redirect") == 0;
    if (!redirect && !(kind && strcmp(kind, "challenge") == 0))
        return fail_question(r, index, id, err, "'kind' is neither 'redirect' nor 'challenge'");
    if (!text || !origin)
        return fail_question(r, index, id, err, text ? "'origin' is missing or no string" : "'text' is missing or no string");
    int64_t cooldown = ks_json_get_i64(j, "cooldown", -1);
    if (cooldown < 1 || cooldown > 1000)
        return fail_question(r, index, id, err, "'cooldown' is missing or not from 1 to 1000");
    for (size_t i = 0; i < ks_json_len(j); i++)
        if (!member_known(ks_json_key(ks_json_at(j, i))))
            return fail_question(r, index, id, err, "unknown member, expected id, layer, kind, text, when, cooldown, origin");
    const struct ks_json *when = ks_json_get(j, "when");
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    if (when && !ks_condition_read(when, r->arena, &q.when, &why))
        return fail_question(r, index, id, err, ks_str_cstr(&why));
    q.kind = redirect ? KS_QUESTION_REDIRECT : KS_QUESTION_CHALLENGE;
    q.id = ks_arena_strdup(r->arena, id);
    q.text = ks_arena_strdup(r->arena, text);
    q.origin = ks_arena_strdup(r->arena, origin);
    q.cooldown = (int)cooldown;
    KS_AUTO_STR struct ks_str quoted = KS_STR_INIT;
    ks_str_addf(&quoted, "\"%s\"", id);
    locate(r, quoted.data, &q.line, &q.col);
    ks_vec_push(&r->questions, q);
    return KS_OK;
}

static enum ks_code read_file(struct reader *r, const char *path, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *json = NULL;
    r->path = path;
    r->file = ks_arena_strdup(r->arena, ks_path_base(path));
    ks_str_clear(&r->text);
    KS_TRY(ks_file_read(path, KS_MAX_JSON_BYTES, &r->text, err));
    KS_TRY(ks_json_parse(ks_str_cstr(&r->text), r->text.len, path, &json, err));
    if (!ks_json_is_array(json))
        return ks_fail_at(err, KS_ERR_SYNTAX, path, 1, 1, "expected an array of questions");
    for (size_t i = 0; i < ks_json_len(json); i++)
        KS_TRY(read_question(r, i, ks_json_at(json, i), err));
    return KS_OK;
}

enum ks_code ks_bank_load(const char *dir, struct ks_arena *arena, struct ks_bank *ret_bank, struct ks_err *err)
{
    struct reader r = {.arena = arena};
    KS_AUTO_STR struct ks_str pattern = KS_STR_INIT;
    glob_t found = {0};
    enum ks_code code = KS_OK;
    ks_path_join(&pattern, dir, "*.json");
    int status = glob(ks_str_cstr(&pattern), 0, NULL, &found); /* sorted by name */
    if (status == GLOB_NOMATCH)
        code = ks_fail(err, KS_ERR_NOT_FOUND, "found no questions in '%s'", dir);
    else if (status != 0)
        code = ks_fail(err, KS_ERR_IO, "cannot list '%s'", dir);
    for (size_t i = 0; code == KS_OK && i < found.gl_pathc; i++)
        code = read_file(&r, found.gl_pathv[i], err);
    if (code == KS_OK) {
        ret_bank->n = r.questions.n;
        ret_bank->data = KS_ARENA_ARRAY(arena, struct ks_question, r.questions.n);
        if (r.questions.n)
            memcpy(ret_bank->data, r.questions.data, r.questions.n * sizeof *r.questions.data);
    }
    globfree(&found);
    ks_str_release(&r.text);
    ks_vec_release(&r.questions);
    return code;
}
