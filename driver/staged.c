#include "driver/staged.h"

#include "driver/emit.h"

#include <stdlib.h>
#include <string.h>

/* git's answer to `words`, names with a NUL behind each. */
static enum ks_code ask_git(const char *const *words, struct ks_args *ret, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_args_init(&argv);
    ks_args_add(&argv, "git");
    ks_args_add(&argv, "--literal-pathspecs");
    for (size_t i = 0; words[i]; i++)
        ks_args_add(&argv, words[i]);
    KS_TRY(ks_tool_run(argv.v, &out, err));
    for (size_t at = 0; at < out.len; at += strlen(out.data + at) + 1)
        ks_args_add(ret, out.data + at);
    return KS_OK;
}

/* "FROM...TO" of the commits that pre-commit looks at; false: it looks at what is staged. */
static bool commits_at_hand(struct ks_str *ret)
{
    const char *from = getenv("PRE_COMMIT_FROM_REF"), *to = getenv("PRE_COMMIT_TO_REF");
    if (!from || !to)
        return false;
    ks_str_addf(ret, "%s...%s", from, to);
    return true;
}

enum ks_code ks_staged_names(struct ks_args *ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str commits = KS_STR_INIT;
    bool made = commits_at_hand(&commits);
    const char *const words[] = {
        "diff", "--name-only", "--no-renames", "--no-ext-diff", "--relative", "-z", made ? ks_str_cstr(&commits) : "--cached",
        "--",   NULL};
    return ask_git(words, ret, err);
}

enum ks_code ks_staged_left_out(struct ks_args *ret, struct ks_err *err)
{
    static const char *const words[] = {"ls-files", "-z", "--others", "--exclude-standard", NULL};
    KS_AUTO_STR struct ks_str commits = KS_STR_INIT;
    return commits_at_hand(&commits) ? KS_OK : ask_git(words, ret, err);
}

enum ks_code ks_staged_below(const char *dir, struct ks_args *ret, struct ks_err *err)
{
    const char *const words[] = {"ls-files", "-z", "--", dir, NULL};
    return ask_git(words, ret, err);
}
