#include "driver/options.h"
#include "tests/unit/test.h"

#include "base/file.h"

static const char *env_name, *env_value;

static const char *fake_env(const char *name)
{
    return env_name && strcmp(name, env_name) == 0 ? env_value : NULL;
}

static struct ks_settings with(const char *word)
{
    struct ks_settings s;
    struct ks_err err = {0};
    ks_settings_init(&s);
    CHECK_OK(ks_settings_apply(&s, word, &err));
    return s;
}

static void refused(const char *word, const char *part)
{
    struct ks_settings s;
    struct ks_err err = {0};
    ks_settings_init(&s);
    CHECK_INT(ks_settings_apply(&s, word, &err), KS_ERR_USAGE);
    CHECK_CONTAINS(err.message, part);
}

TEST(table_is_sorted_unique_and_legal)
{
    for (size_t i = 0; i < ks_n_options; i++) {
        const struct ks_option *o = &ks_options[i];
        if (i > 0)
            CHECK(strcmp(ks_options[i - 1].name, o->name) < 0);
        CHECK(ks_str_starts(o->name, "--kscc-") || strcmp(o->name, "-O-agent") == 0 || strcmp(o->name, "-###") == 0);
        CHECK((o->form == KS_OPT_BARE) == (o->metavar[0] == '\0'));
        CHECK((o->type == KS_TYPE_OPT_ENUM || o->type == KS_TYPE_OPT_POLICY) == (o->allowed[0] != '\0'));
        CHECK((o->type == KS_TYPE_OPT_BOOL || o->type == KS_TYPE_OPT_ACTION) == (o->form == KS_OPT_BARE));
        CHECK(o->offset < sizeof(struct ks_settings));
        CHECK(o->help[0] != '\0');
    }
}

/* docs/OPTIONS.md, --kscc-help and the table name the same options. */
TEST(help_and_manual_list_every_option)
{
    struct ks_err err = {0};
    KS_AUTO_STR struct ks_str help = KS_STR_INIT, manual = KS_STR_INIT;
    ks_options_help(&help);
    CHECK_OK(ks_file_read(KSCC_SOURCE_DIR "/docs/OPTIONS.md", 1 << 20, &manual, &err));
    for (size_t i = 0; i < ks_n_options; i++) {
        KS_AUTO_STR struct ks_str env = KS_STR_INIT, item = KS_STR_INIT;
        ks_option_env_name(&ks_options[i], &env);
        ks_str_addf(&item, "`%s", ks_options[i].name);
        CHECK_CONTAINS(ks_str_cstr(&help), ks_options[i].name);
        CHECK_CONTAINS(ks_str_cstr(&manual), ks_str_cstr(&item));
        if (ks_options[i].type != KS_TYPE_OPT_ACTION)
            CHECK_CONTAINS(ks_str_cstr(&manual), ks_str_cstr(&env));
    }
}

TEST(values_are_checked_by_type)
{
    CHECK(with("-O-agent").o_agent);
    CHECK(!with("-O-agent=off").o_agent);
    struct ks_settings s = with("-O-agent=trials:5,target:2.5");
    CHECK(s.o_agent);
    CHECK_INT(s.budget.trials, 5);
    CHECK_NEAR(s.budget.target, 2.5, 0);
    s = with("--kscc-device=emulated:sm_90a");
    CHECK_INT(s.device.choice, KS_CHOOSE_EMULATED);
    CHECK_STR(s.device.arch, "sm_90a");
    CHECK(ks_streq(with("--kscc-policy=approved,noisy=off,vendor/=explore").policy_words, "approved,noisy=off,vendor/=explore"));
    refused("--kscc-policy=approved,=off", "ENTRY=POLICY");
    refused("--kscc-policy=approved,", "explore|approved|off");
    CHECK_INT(with("--kscc-sample=1e6").sample, 1000000);
    CHECK(with("--kscc-require-gate").require_gate);
    CHECK(ks_streq(with("--kscc-args=").program_args, "")); /* a program that takes none */
    refused("--kscc-device=tpu", "emulated:sm_XX");
    refused("--kscc-device=emulated:sm_", "got 'emulated:sm_'");
    refused("--kscc-budget=lots", "trials:N");
    refused("--kscc-budget=trials:0", "from 1 to");
    refused("--kscc-delta=nan", "a fraction");
    refused("--kscc-policy=maybe", "explore|approved|off");
    refused("--kscc-require-gate=1", "takes no value");
    refused("--kscc-budget", "needs a value");
    refused("--kscc-nonsense", "unknown option");
    refused("--kscc-dir=", "expected a value");
}

TEST(environment_has_the_same_meaning)
{
    struct ks_settings s;
    struct ks_err err = {0};
    ks_settings_init(&s);
    env_name = "KSCC_O_AGENT", env_value = "1";
    CHECK_OK(ks_settings_apply_env(&s, fake_env, &err));
    CHECK(s.o_agent);
    env_name = "KSCC_REQUIRE_GATE", env_value = "0";
    CHECK_OK(ks_settings_apply_env(&s, fake_env, &err));
    CHECK(!s.require_gate);
    env_name = "KSCC_BUDGET", env_value = "trials:7";
    CHECK_OK(ks_settings_apply_env(&s, fake_env, &err));
    CHECK_INT(s.budget.trials, 7);
    env_value = "trials:x";
    CHECK_INT(ks_settings_apply_env(&s, fake_env, &err), KS_ERR_USAGE);
    CHECK_CONTAINS(err.message, "KSCC_BUDGET");
    env_name = "KSCC_VERSION", env_value = "some build's own variable";
    CHECK_OK(ks_settings_apply_env(&s, fake_env, &err));
    CHECK(!s.show_version);
}

TEST_MAIN
