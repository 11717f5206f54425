/* The words of --kscc-policy, which every call reads: apart from kscc.toml, whose parser only kscc-core has. */

#include "driver/policy.h"

#include <string.h>

bool ks_policy_parse(const char *text, size_t len, enum ks_policy *ret)
{
    for (int i = 0; i <= KS_POLICY_OFF; i++)
        if (strlen(ks_policy_text(i)) == len && strncmp(ks_policy_text(i), text, len) == 0) {
            *ret = (enum ks_policy)i;
            return true;
        }
    return false;
}

size_t ks_policy_next_word(const char *text, const char **ret_name, size_t *ret_name_len, enum ks_policy *ret, struct ks_err *err)
{
    size_t len = strcspn(text, ",");
    const char *equals = memrchr(text, '=', len);
    size_t name_len = equals ? (size_t)(equals - text) : 0, at = equals ? name_len + 1 : 0;
    if (!ks_policy_parse(text + at, len - at, ret) || (equals && name_len == 0)) {
        enum ks_code code = ks_fail(err, KS_ERR_USAGE,
                                    "expected explore|approved|off, ENTRY=POLICY or FOLDER/=POLICY, got '%.*s'", (int)len, text);
        (void)code;
        return 0;
    }
    *ret_name = text;
    *ret_name_len = name_len;
    return len;
}

enum ks_code ks_policy_words(const char *text, struct ks_err *err)
{
    for (;;) {
        const char *name;
        size_t name_len, len;
        enum ks_policy policy;
        if (!(len = ks_policy_next_word(text, &name, &name_len, &policy, err)))
            return KS_ERR_USAGE;
        if (!text[len])
            return KS_OK;
        text += len + 1;
    }
}
