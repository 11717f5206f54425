/* kscc explain: what the ids in brackets after messages mean. */

#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/explain.h"
#include "driver/say.h"

#include <stdio.h>

int ks_cmd_explain(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args words;
    struct ks_settings s;
    ks_args_init(&words);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    if (words.n > 1)
        return ks_command_usage("explain");
    for (size_t i = 0; words.n == 0 && i < ks_n_explanations; i++)
        printf("kscc-%s\n", ks_explanations[i].id);
    if (words.n == 0)
        return 0;
    const struct ks_explanation *e = ks_explain(words.v[0]);
    if (!e) {
        ks_say(KS_SEV_ERROR, "nothing is known about '%s' ('kscc explain' lists the ids) [kscc-not-found]", words.v[0]);
        return 1;
    }
    printf("kscc-%s\n    %s\n    %s\n", e->id, e->meaning, e->remedy);
    return 0;
}
