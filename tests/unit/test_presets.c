/* The presets that come along, each against a program of that name (tests/agents/fake_cli.py) that takes its command line by the
 * real one's documented rules and plays an agent; what it asks of kscc reaches kscc. */
#include "base/file.h"
#include "base/process.h"
#include "rewriter/command_preset.h"
#include "test.h"

#include <stdlib.h>
#include <unistd.h>

#define PRESETS KSCC_SOURCE_DIR "/rewriter/presets"

static char dir[] = "/tmp/test-presets.XXXXXX";

static void put(const char *name, const char *text, mode_t mode)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct ks_err err;
    ks_path_join(&path, dir, name);
    CHECK_OK(ks_file_write_atomic(ks_str_cstr(&path), text, strlen(text), mode, &err));
}

static void make_workspace(void)
{
    KS_AUTO_STR struct ks_str bin = KS_STR_INIT;
    struct ks_err err;
    CHECK(mkdtemp(dir) != NULL);
    ks_path_join(&bin, dir, "bin");
    CHECK_OK(ks_dir_make(ks_str_cstr(&bin), &err));
    put("bin/kscc", "#!/bin/sh\nprintf '[%s]' \"$@\"\ngrep -c '3.0f + 1.0f' \"$2\"\nexit 1\n", 0755);
    put("TASK.md", "Have it tried: kscc try unit.cu --layer L --because WHY --predict X\n", 0644);
}

/* Runs the preset's program as the workspace would: its own words, what it sets, and kscc on PATH. */
static void play(const char *name, struct ks_str *out, struct ks_exit *ret)
{
    KS_AUTO_ARGS struct ks_args argv, env;
    KS_AUTO_STR struct ks_str program = KS_STR_INIT, task = KS_STR_INIT, unit = KS_STR_INIT;
    struct ks_command_preset p;
    struct ks_spawn s;
    struct ks_err err;
    ks_args_init(&argv);
    ks_args_init(&env);
    CHECK_OK(ks_command_preset_read(name, PRESETS, &p, &err));
    ks_str_addf(&program, "%s/bin/%s", dir, p.program);
    ks_path_join(&task, dir, "TASK.md");
    ks_path_join(&unit, dir, "unit.cu");
    CHECK(symlink(KSCC_SOURCE_DIR "/tests/agents/fake_cli.py", ks_str_cstr(&program)) == 0);
    put("unit.cu", "y[i] = x[i] * 3.0f;\n", 0644);
    const struct ks_command_places places = {.prompt = "Read TASK.md in this folder and do what it says.",
                                             .task = ks_str_cstr(&task),
                                             .unit = ks_str_cstr(&unit),
                                             .workspace = dir};
    ks_command_preset_argv(&p, ks_str_cstr(&program), &places, &argv);
    ks_args_add_all(&env, p.set.v ? p.set.v : (char *[]){NULL});
    ks_args_addf(&env, "PATH=%s/bin:%s", dir, getenv("PATH"));
    ks_spawn_init(&s);
    s.argv = argv.v;
    s.envp = env.v;
    s.cwd = dir;
    s.timeout_ms = 60000;
    CHECK_OK(ks_process_run(&s, out, out, ret, &err));
    ks_command_preset_release(&p);
}

TEST(each_presets_program_takes_its_command_line_and_reaches_kscc)
{
    static const char *const names[] = {"aider", "claude", "codex", "cursor", "gemini", "goose", "opencode", "qwen"};
    make_workspace();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        KS_AUTO_STR struct ks_str out = KS_STR_INIT;
        struct ks_exit e = {0};
        play(names[i], &out, &e);
        if (!ks_exit_ok(&e))
            printf("%s: %s\n", names[i], ks_str_cstr(&out));
        CHECK(ks_exit_ok(&e));
        CHECK_CONTAINS(ks_str_cstr(&out), "tried: 1\n"); /* the status of its kscc */
        CHECK_CONTAINS(ks_str_cstr(&out), "[try][unit.cu][--layer][operator-boundary][--because][one launch does it]");
        CHECK_CONTAINS(ks_str_cstr(&out), "]1\n"); /* with its edit in the file */
    }
}

TEST(a_program_refuses_words_that_it_does_not_know)
{
    KS_AUTO_STR struct ks_str program = KS_STR_INIT, out = KS_STR_INIT;
    struct ks_exit e = {0};
    struct ks_spawn s;
    struct ks_err err;
    ks_path_join(&program, dir, "bin/claude");
    char *argv[] = {program.data, "-p", "x", "--no-such-option", NULL};
    ks_spawn_init(&s);
    s.argv = argv;
    CHECK_OK(ks_process_run(&s, &out, &out, &e, &err));
    CHECK(!ks_exit_ok(&e));
    CHECK_CONTAINS(ks_str_cstr(&out), "unknown option --no-such-option");
    CHECK_OK(ks_dir_remove(dir, &err));
}

TEST_MAIN
