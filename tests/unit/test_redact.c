#include "base/redact.h"
#include "tests/unit/test.h"

#include <stdlib.h>

static char *redacted(const char *text)
{
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_redact(text, strlen(text), &out);
    return ks_xstrdup(ks_str_cstr(&out));
}

#define CHECK_REDACTED(text, expected)                                                                                           \
    do {                                                                                                                         \
        KS_AUTO_FREE char *got_ = redacted(text);                                                                                \
        CHECK_STR(got_, expected);                                                                                               \
    } while (0)

/* The environment is read at the first call: planted before any test runs. */
__attribute__((constructor)) static void plant(void)
{
    setenv("TEST_PROVIDER_API_KEY", "correct horse battery", 1);
    setenv("TEST_TOKEN", "short", 1);
    setenv("TEST_MONKEY", "bananabanana", 1);
    setenv("test_password", "s3cr3t-value", 1);
}

TEST(values_of_variables_that_name_secrets_are_taken_out)
{
    CHECK_REDACTED("x correct horse battery y correct horse batteryz", "x [redacted] y [redacted]z");
    CHECK_REDACTED("a s3cr3t-value b", "a [redacted] b");
    CHECK_REDACTED("short stays, bananabanana too", "short stays, bananabanana too");
}

TEST(what_has_the_form_of_a_secret_is_taken_out)
{
    CHECK_REDACTED("key=sk-"
                   "proj-abcdefghijklmnopqrstuvwx end",
                   "key=[redacted] end");
    CHECK_REDACTED("ghp_abcdefghijklmnopqrstuvwxyz012345", "[redacted]");
    CHECK_REDACTED("AKIAIOSFODNN7EXAMPLE.", "[redacted].");
    CHECK_REDACTED("Authorization: Bearer abc.def-ghi_jkl=", "Authorization: Bearer [redacted]");
    CHECK_REDACTED("x-api-key: 'q1w2e3r4t5', next", "x-api-key: '[redacted]', next");
    CHECK_REDACTED("https://user:hunter2@host/path", "https://user:[redacted]@host/path");
    CHECK_REDACTED("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest", "[redacted]\nrest");
    CHECK_REDACTED("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK", "[redacted]");
}

TEST(a_long_text_hides_nothing_and_takes_no_longer_than_its_length)
{
    static const struct {
        const char *piece, *secret, *expected;
    } cases[] = {{"a.", " https://user:hunter2@host", " https://user:[redacted]@host"}, /* each dot begins a word */
                 {"-eyJ", " password=hunter2hunter2", " password=[redacted]"},
                 {"-----BEGIN PRIVATE KEY-----\nMIIE", " never ended", "[redacted]"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        while (text.len < 1200000) /* more than PCRE2's limit has steps */
            ks_str_add(&text, cases[i].piece);
        ks_str_add(&text, cases[i].secret);
        KS_AUTO_FREE char *got = redacted(ks_str_cstr(&text));
        size_t len = strlen(got), n = strlen(cases[i].expected);
        CHECK(len >= n && strcmp(got + len - n, cases[i].expected) == 0);
    }
    CHECK_REDACTED("-----BEGIN PRIVATE KEY-----\nMI-----END CERTIFICATE-----IE\n-----END PRIVATE KEY----- rest",
                   "[redacted] rest");
}

TEST(code_and_prose_stay)
{
    const char *const texts[] = {"__global__ void key(const float *keys, int n) { keys[i] = token; }",
                                 "the key is loaded once; passwords are not",
                                 "sk-short",
                                 "risk-free-desk-work-is-fine-here-ok",
                                 "http://127.0.0.1:8080/v1",
                                 "a ? b : c",
                                 ""};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        CHECK_REDACTED(texts[i], texts[i]);
}

TEST(added_secrets_are_taken_out_of_values_and_names)
{
    struct ks_json *j;
    struct ks_err err;
    const char text[] = "{\"a\":[\"from a file: zzyzx1\",1,null],\"zzyzx1\":{\"b\":true}}";
    ks_redact_add("zzyzx1");
    ks_redact_add("ab"); /* too short to be one */
    CHECK(ks_json_parse(text, strlen(text), "test", &j, &err) == KS_OK);
    struct ks_json *clean = ks_redact_json(j);
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_json_print(clean, &out);
    CHECK_STR(ks_str_cstr(&out), "{\"a\":[\"from a file: [redacted]\",1,null],\"[redacted]\":{\"b\":true}}");
    ks_json_free(clean);
    ks_json_free(j);
    CHECK_REDACTED("grab a cab", "grab a cab");
}

TEST_MAIN
