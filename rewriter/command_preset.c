#include "rewriter/command_preset.h"

#include "base/file.h"
#include "base/json.h"

#include <dirent.h>
#include <string.h>

#define MAX_TIMEOUT_S 86400

void ks_command_preset_release(struct ks_command_preset *p)
{
    ks_args_release(&p->argv);
    ks_args_release(&p->env);
    ks_args_release(&p->home);
    ks_args_release(&p->read);
    ks_args_release(&p->set);
    free(p->name);
    free(p->program);
    *p = (struct ks_command_preset){0};
}

static void list_presets(const char *dir, struct ks_str *out)
{
    struct dirent **names;
    int n = scandir(dir, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;
        if (ks_str_ends(name, ".json"))
            ks_str_addf(out, "%s%.*s", out->len ? ", " : "", (int)(strlen(name) - strlen(".json")), name);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
}

static enum ks_code find(const char *word, const char *dir, struct ks_str *path, struct ks_err *err)
{
    if (strchr(word, '/') || ks_str_ends(word, ".json")) {
        ks_str_add(path, word);
        return KS_OK;
    }
    ks_str_addf(path, "%s/%s.json", dir, word);
    if (ks_file_exists(ks_str_cstr(path)))
        return KS_OK;
    KS_AUTO_STR struct ks_str names = KS_STR_INIT;
    list_presets(dir, &names);
    return ks_fail(err, KS_ERR_NOT_FOUND, "there is no preset '%s' (there are: %s; or the path of one)", word,
                   ks_str_cstr(&names));
}

static enum ks_code read_list(const struct ks_json *j, const char *path, const char *name, struct ks_args *out,
                              struct ks_err *err)
{
    const struct ks_json *list = ks_json_get(j, name);
    if (list && !ks_json_is_array(list))
        return ks_fail(err, KS_ERR_SYNTAX, "'%s': '%s' is no array of texts", path, name);
    for (size_t i = 0; i < ks_json_len(list); i++) {
        if (!ks_json_str(ks_json_at(list, i)))
            return ks_fail(err, KS_ERR_SYNTAX, "'%s': '%s' is no array of texts", path, name);
        ks_args_add(out, ks_json_str(ks_json_at(list, i)));
    }
    return KS_OK;
}

static enum ks_code read_all(const struct ks_json *j, const char *path, struct ks_command_preset *p, struct ks_err *err)
{
    const struct ks_json *set = ks_json_get(j, "set");
    const char *program = ks_json_get_str(j, "program", NULL), *name = ks_json_get_str(j, "name", NULL);
    double timeout_s = ks_json_get_num(j, "timeout_s", 3600);
    if (!program || !*program || !name || !*name)
        return ks_fail(err, KS_ERR_SYNTAX, "'%s' needs a name and a program", path);
    if (!(timeout_s >= 1 && timeout_s <= MAX_TIMEOUT_S))
        return ks_fail(err, KS_ERR_RANGE, "'%s': timeout_s must be from 1 to %d", path, MAX_TIMEOUT_S);
    p->program = ks_xstrdup(program);
    p->name = ks_xstrdup(name);
    p->timeout_s = (int64_t)timeout_s;
    KS_TRY(read_list(j, path, "argv", &p->argv, err));
    KS_TRY(read_list(j, path, "env", &p->env, err));
    KS_TRY(read_list(j, path, "home", &p->home, err));
    KS_TRY(read_list(j, path, "read", &p->read, err));
    for (size_t i = 0; i < ks_json_len(set); i++) {
        const struct ks_json *m = ks_json_at(set, i);
        if (!ks_json_key(m) || !ks_json_str(m))
            return ks_fail(err, KS_ERR_SYNTAX, "'%s': 'set' is no object of texts", path);
        ks_args_addf(&p->set, "%s=%s", ks_json_key(m), ks_json_str(m));
    }
    for (size_t i = 0; i < p->home.n; i++)
        if (p->home.v[i][0] == '/' || strstr(p->home.v[i], ".."))
            return ks_fail(err, KS_ERR_SYNTAX, "'%s': '%s' is no path below the home folder", path, p->home.v[i]);
    return KS_OK;
}

enum ks_code ks_command_preset_read(const char *word, const char *dir, struct ks_command_preset *ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *j = NULL;
    *ret = (struct ks_command_preset){0};
    KS_TRY(find(word, dir, &path, err));
    KS_TRY(ks_json_read_file(ks_str_cstr(&path), &j, err));
    enum ks_code code = read_all(j, ks_str_cstr(&path), ret, err);
    if (code != KS_OK)
        ks_command_preset_release(ret);
    return code;
}

static void add_word(const char *word, const struct ks_command_places *places, struct ks_args *out)
{
    const struct {
        const char *name, *value;
    } all[] = {
        {"{prompt}", places->prompt}, {"{task}", places->task}, {"{unit}", places->unit}, {"{workspace}", places->workspace}};
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    while (*word) {
        size_t i = 0;
        while (i < sizeof(all) / sizeof(all[0]) && !ks_str_starts(word, all[i].name))
            i++;
        if (i < sizeof(all) / sizeof(all[0])) {
            ks_str_add(&text, all[i].value);
            word += strlen(all[i].name);
        } else {
            ks_str_addc(&text, *word++);
        }
    }
    ks_args_add(out, ks_str_cstr(&text));
}

void ks_command_preset_argv(const struct ks_command_preset *p, const char *program, const struct ks_command_places *places,
                            struct ks_args *out)
{
    ks_args_add(out, program);
    for (size_t i = 0; i < p->argv.n; i++)
        add_word(p->argv.v[i], places, out);
}
