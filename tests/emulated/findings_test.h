#ifndef KS_TESTS_EMULATED_FINDINGS_TEST_H
#define KS_TESTS_EMULATED_FINDINGS_TEST_H

/* What the runners of findings share: after a launch, expect() compares what was found with what the kernel was written for. */

#include "tests/emulated/emu_test.h"

static char source[1 << 16];

/* Line of the first `needle` after the kernel's name. */
static inline int line_of(const char *kernel, const char *needle)
{
    char name[64];
    (void)snprintf(name, sizeof(name), " %s(", kernel);
    const char *p = strstr(source, name);
    p = p ? strstr(p, needle) : NULL;
    int line = 1;
    for (const char *s = source; p && s < p; s++)
        line += *s == '\n';
    return p ? line : -1;
}

/* The only finding must be `kind` in the line of `needle`; NULL kind: none. */
static inline void expect(const char *kernel, enum ks_code got, enum ks_code want, const char *kind, const char *needle,
                          const char *allocation)
{
    struct ks_json *all = ks_emu_findings(dev);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_json_print(all, &text);
    verdict(got == want, kernel, "launch gives %s (%s), expected %s", ks_code_name(got), err.message, ks_code_name(want));
    if (!kind) {
        verdict(ks_json_len(all) == 0, kernel, "accused: %s", ks_str_cstr(&text));
    } else {
        struct ks_json *f = NULL;
        for (size_t i = 0; i < ks_json_len(all); i++)
            if (ks_streq(ks_json_get_str(ks_json_at(all, i), "kind", ""), kind))
                f = ks_json_at(all, i);
        verdict(f != NULL, kernel, "no '%s' in %s", kind, ks_str_cstr(&text));
        if (f) {
            verdict(ks_streq(ks_json_get_str(f, "kernel", ""), kernel), kernel, "kernel is %s", ks_json_get_str(f, "kernel", ""));
            if (needle)
                verdict(ks_json_get_i64(f, "line", 0) == line_of(kernel, needle), kernel, "line %lld, expected %d",
                        (long long)ks_json_get_i64(f, "line", 0), line_of(kernel, needle));
            if (allocation)
                verdict(ks_streq(ks_json_get_str(f, "allocation", ""), allocation), kernel, "allocation %s",
                        ks_json_get_str(f, "allocation", "null"));
            static const char *const two[] = {"race", "async", "barrier-count", "shuffle-source", "divergent-barrier"};
            for (size_t i = 0; i < sizeof(two) / sizeof(*two); i++)
                if (strstr(kind, two[i]))
                    verdict(ks_json_get_i64(ks_json_get(f, "other"), "line", 0) > 0, kernel, "no other party: %s",
                            ks_str_cstr(&text));
        }
    }
    ks_json_free(all);
    ks_emu_findings_clear(dev);
}

/* Reads the kernels' source, for the lines that findings must name. */
static inline bool read_source(const char *path)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (ks_file_read(path, sizeof(source) - 1, &text, &err) != KS_OK)
        return false;
    memcpy(source, ks_str_cstr(&text), text.len);
    return true;
}

#endif
