/* kscc explain: what the ids in brackets after messages mean. */

#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/explain.h"
#include "driver/say.h"

#include <stdio.h>

static struct ks_json *as_json(const struct ks_explanation *e)
{
    KS_AUTO_STR struct ks_str id = KS_STR_INIT;
    struct ks_json *j = ks_json_object();
    ks_str_addf(&id, "kscc-%s", e->id);
    ks_json_set_str(j, "id", ks_str_cstr(&id));
    ks_json_set_str(j, "meaning", e->meaning);
    ks_json_set_str(j, "remedy", e->remedy);
    return j;
}

static void list(bool json)
{
    KS_AUTO_JSON struct ks_json *all = ks_json_array();
    for (size_t i = 0; i < ks_n_explanations; i++)
        if (json)
            ks_json_push(all, as_json(&ks_explanations[i]));
        else
            printf("kscc-%s\n", ks_explanations[i].id);
    if (json)
        ks_command_print(all);
}

int ks_cmd_explain(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args words;
    struct ks_settings s;
    ks_args_init(&words);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    bool json = ks_command_flag(&words, "--json");
    if (words.n > 1 || (words.n == 1 && words.v[0][0] == '-'))
        return ks_command_usage("explain");
    if (words.n == 0) {
        list(json);
        return 0;
    }
    const struct ks_explanation *e = ks_explain(words.v[0]);
    if (!e) {
        ks_say(KS_SEV_ERROR, "nothing is known about '%s' ('kscc explain' lists the ids) [kscc-not-found]", words.v[0]);
        return 1;
    }
    KS_AUTO_JSON struct ks_json *j = as_json(e);
    if (json)
        ks_command_print(j);
    else
        printf("kscc-%s\n    %s\n    %s\n", e->id, e->meaning, e->remedy);
    return 0;
}
