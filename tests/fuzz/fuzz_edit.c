/* Edits of a text: exact replacement, and edits by offset.  The input is "source \xff old \xff new"; its first byte chooses.
 * Against what is true of every replacement: everything outside the spans stays. */
#include "rewriter/actions.h"
#include "rewriter/edit.h"

#include <stdlib.h>
#include <string.h>

static void by_text(const char *source, const char *old, const char *new_text, bool all)
{
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    struct ks_err err;
    size_t len = strlen(source), n = 0;
    for (const char *p = source; *old && (p = strstr(p, old)); p += strlen(old))
        n++;
    enum ks_code code = ks_actions_replace(source, len, old, new_text, all, &out, &err);
    enum ks_code want = !*old ? KS_ERR_USAGE : n == 0 ? KS_ERR_NOT_FOUND : n > 1 && !all ? KS_ERR_OVERLAP : KS_OK;
    if (code != want || (code == KS_OK && out.len != len - n * strlen(old) + n * strlen(new_text)))
        abort();
    if (code != KS_OK)
        return;
    const char *at = strstr(source, old);
    if (strncmp(ks_str_cstr(&out), source, (size_t)(at - source)) != 0 ||
        strncmp(ks_str_cstr(&out) + (at - source), new_text, strlen(new_text)) != 0)
        abort();
}

/* The bytes of `plan` are begin, length and number of new bytes of one edit after the other. */
static void by_offset(const char *source, const char *plan)
{
    KS_AUTO_EDITS struct ks_edits edits;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    struct ks_err err;
    size_t len = strlen(source), added = 0, removed = 0;
    ks_edits_init(&edits);
    for (size_t n = strlen(plan), i = 0; i + 2 < n; i += 3) {
        uint32_t begin = (uint32_t)(unsigned char)plan[i], size = (uint32_t)(unsigned char)plan[i + 1] % 8;
        static const char digits[] = "0123456";
        const char *text = &digits[(unsigned char)plan[i + 2] % 8];
        ks_edits_replace(&edits, (struct ks_span){begin, begin + size}, text);
        added += strlen(text);
        removed += size;
    }
    if (ks_edits_apply(&edits, source, len, &out, &err) == KS_OK && out.len != len + added - removed)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    char *copy = ks_xstrndup((const char *)data + 1, size - 1), *old = strchr(copy, '\xff'), *text = NULL;
    if (old)
        *old++ = '\0';
    text = old ? strchr(old, '\xff') : NULL;
    if (text)
        *text++ = '\0';
    if (old && text && data[0] & 2)
        by_text(copy, old, text, data[0] & 1);
    else if (old)
        by_offset(copy, old);
    free(copy);
    return 0;
}
