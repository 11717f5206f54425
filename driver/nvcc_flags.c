#include "driver/nvcc_flags.h"

#include <string.h>

const struct ks_flag ks_flags[] = {
#define X(long_name, short_name, form, bits) {long_name, short_name, KS_FORM_##form, bits},
#include "driver/nvcc_flags.def"
#undef X
};
const size_t ks_n_flags = sizeof(ks_flags) / sizeof(ks_flags[0]);

bool ks_flag_takes_value(const struct ks_flag *flag)
{
    return flag->form != KS_FORM_NONE;
}

bool ks_flag_eats_next(const struct ks_flag *flag, const char *next)
{
    if (flag->form == KS_FORM_OPTIONAL)
        return next && next[0] != '-';
    return ks_flag_takes_value(flag);
}

bool ks_flag_is_list(const struct ks_flag *flag)
{
    return flag->form == KS_FORM_LIST || flag->form == KS_FORM_JOINED_LIST;
}

bool ks_flag_is(const struct ks_flag *flag, const char *long_name)
{
    return flag && strcmp(flag->long_name, long_name) == 0;
}

static bool name_equals(const char *name, const char *text, size_t len)
{
    return name[0] == text[0] && len && strncmp(name, text, len) == 0 && !name[len];
}

/* nvcc: `--long[=value]`, `-short[=value]`; the exact spelling wins over a glued one-letter option ("-lib" is no -l). */
const struct ks_flag *ks_flag_match(const char *word, const char **ret_value)
{
    if (word[0] != '-' || !word[1])
        return NULL;
    bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    size_t len = strcspn(name, "=");
    for (size_t i = 0; i < ks_n_flags; i++) {
        const struct ks_flag *f = &ks_flags[i];
        if (!name_equals(is_long ? f->long_name : f->short_name, name, len))
            continue;
        if (name[len] == '=' && !ks_flag_takes_value(f))
            return NULL;
        *ret_value = name[len] == '=' ? name + len + 1 : NULL;
        return f;
    }
    for (size_t i = 0; !is_long && i < ks_n_flags; i++) {
        const struct ks_flag *f = &ks_flags[i];
        if ((f->form == KS_FORM_JOINED || f->form == KS_FORM_JOINED_LIST) && f->short_name[0] == name[0] && !f->short_name[1]) {
            *ret_value = name + 1;
            return f;
        }
    }
    return NULL;
}
