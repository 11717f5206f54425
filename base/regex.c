#include "base/regex.h"

#include "base/limits.h"
#include "base/mem.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define STEP_WORK 4 /* of one step, in bytes looked at */

struct ks_regex {
    pcre2_code *code;
    pcre2_match_context *context;
    pcre2_match_data *data;
    int64_t work; /* left of what it may do */
    size_t at;    /* where the last step was */
};

static enum ks_code compile(const char *pattern, uint32_t options, struct ks_regex **ret_re, struct ks_err *err)
{
    int error;
    PCRE2_SIZE offset;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &error, &offset, NULL);
    if (!code) {
        PCRE2_UCHAR text[256];
        pcre2_get_error_message(error, text, sizeof(text));
        return ks_fail(err, KS_ERR_SYNTAX, "cannot compile pattern '%s' at offset %zu: %s", pattern, (size_t)offset,
                       (char *)text);
    }
    struct ks_regex *re = ks_xcalloc(1, sizeof(*re));
    re->code = code;
    re->context = pcre2_match_context_create(NULL);
    re->data = pcre2_match_data_create_from_pattern(code, NULL);
    KS_BUG(!re->context || !re->data);
    pcre2_set_match_limit(re->context, KS_MAX_REGEX_MATCHES);
    pcre2_set_depth_limit(re->context, KS_MAX_REGEX_MATCHES);
    *ret_re = re;
    return KS_OK;
}

enum ks_code ks_regex_new(const char *pattern, const char *flags, struct ks_regex **ret_re, struct ks_err *err)
{
    uint32_t options = 0;
    for (; *flags; flags++) {
        options |= *flags == 'i'   ? PCRE2_CASELESS
                   : *flags == 'm' ? PCRE2_MULTILINE
                   : *flags == 's' ? PCRE2_DOTALL
                   : *flags == 'x' ? PCRE2_EXTENDED
                                   : 0;
    }
    return compile(pattern, options, ret_re, err);
}

/* Called before each item of the pattern: how far the last one went is what it cost. */
static int on_step(pcre2_callout_block *b, void *ctx)
{
    struct ks_regex *re = ctx;
    re->work -= STEP_WORK + (int64_t)(b->current_position > re->at ? b->current_position - re->at : 0);
    re->at = b->current_position;
    return re->work < 0 ? PCRE2_ERROR_MATCHLIMIT : 0;
}

enum ks_code ks_regex_new_bounded(const char *pattern, int64_t work, struct ks_regex **ret_re, struct ks_err *err)
{
    struct ks_regex *re;
    KS_TRY(compile(pattern, PCRE2_AUTO_CALLOUT, &re, err));
    re->work = work;
    pcre2_set_callout(re->context, on_step, re);
    *ret_re = re;
    return KS_OK;
}

void ks_regex_free(struct ks_regex *re)
{
    if (!re)
        return;
    pcre2_match_data_free(re->data);
    pcre2_match_context_free(re->context);
    pcre2_code_free(re->code);
    free(re);
}

enum ks_code ks_regex_match(const struct ks_regex *re, const char *subject, size_t len, size_t from, struct ks_match *ret_match,
                            bool *ret_found, struct ks_err *err)
{
    int rc = pcre2_match(re->code, (PCRE2_SPTR)subject, len, from, 0, re->data, re->context);
    if (rc == PCRE2_ERROR_NOMATCH) {
        *ret_found = false;
        return KS_OK;
    }
    if (rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_DEPTHLIMIT)
        return ks_fail(err, KS_ERR_LIMIT, "pattern needs too many match steps");
    if (rc < 0) {
        PCRE2_UCHAR text[256];
        pcre2_get_error_message(rc, text, sizeof(text));
        return ks_fail(err, KS_ERR_SYNTAX, "cannot match: %s", (char *)text);
    }
    const PCRE2_SIZE *ovector = pcre2_get_ovector_pointer(re->data);
    size_t max = sizeof(ret_match->begin) / sizeof(ret_match->begin[0]);
    ret_match->n = (size_t)rc < max ? (size_t)rc : max;
    for (size_t i = 0; i < max; i++) {
        bool set = i < ret_match->n && ovector[2 * i] != PCRE2_UNSET;
        ret_match->begin[i] = set ? ovector[2 * i] : SIZE_MAX;
        ret_match->end[i] = set ? ovector[2 * i + 1] : SIZE_MAX;
    }
    *ret_found = true;
    return KS_OK;
}
