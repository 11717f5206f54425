#include "driver/live.h"
#include "tests/unit/test.h"

#include "base/diag.h"
#include "driver/say.h"

#include <pty.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Every line of a block fits the terminal, whatever is in it. */
static void check_fits(const char *text, unsigned columns, unsigned rows)
{
    unsigned n_lines = 1, used = 0;
    for (size_t at = 0, len = strlen(text), n; at < len; at += n) {
        used += (unsigned)ks_glyph_width(text + at, len - at, &n);
        if (text[at] == '\n') {
            used = 0;
            n_lines++;
        }
        CHECK(used < columns);
        CHECK((unsigned char)text[at] >= 0x20 || text[at] == '\n');
    }
    CHECK(n_lines < rows);
}

static const struct ks_live_view view = {.title = "a.cu: entry scale on the emulated device",
                                         .stage = "trial 3: gate numerics",
                                         .question = "Which bytes cross the bus twice?",
                                         .hypothesis = "data-movement, predicts 1.80x: y makes a round trip",
                                         .best = "1.83x [1.79, 1.86]",
                                         .n_trials = 2,
                                         .n_accepted = 1,
                                         .budget_trials = 24,
                                         .spent_ms = 72400,
                                         .tokens = 12345,
                                         .usd = 0.1};

TEST(a_block_says_stage_numbers_question_and_hypothesis)
{
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_live_render(&view, 160, 50, false, &out);
    CHECK_STR(ks_str_cstr(&out), "kscc: a.cu: entry scale on the emulated device\n"
                                 "  stage       trial 3: gate numerics\n"
                                 "  trials      2 of 24 done, 1 accepted; best 1.83x [1.79, 1.86]\n"
                                 "  spent       1 min 12 s, 12345 tokens, 0.10 USD; at most 13 min 16 s left\n"
                                 "  question    Which bytes cross the bus twice?\n"
                                 "  hypothesis  data-movement, predicts 1.80x: y makes a round trip");
}

TEST(what_is_left_is_the_smaller_of_trials_and_time)
{
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    struct ks_live_view v = view;
    v.budget_s = 100;
    ks_live_render(&v, 160, 50, false, &out);
    CHECK_CONTAINS(ks_str_cstr(&out), "at most 28 s left");
    v.budget_s = 10;
    ks_str_clear(&out);
    ks_live_render(&v, 160, 50, false, &out);
    CHECK_CONTAINS(ks_str_cstr(&out), "at most 0 s left");
    v.n_trials = 0;
    v.budget_s = 0;
    ks_str_clear(&out);
    ks_live_render(&v, 160, 50, false, &out);
    CHECK(!strstr(ks_str_cstr(&out), "left"));
}

TEST(a_block_fits_any_terminal_and_moves_no_cursor)
{
    struct ks_live_view v = view;
    v.question = "\033[2Jred\033[31m \xc2\x9b"
                 "5A \xff\xfe \xe4\xb8\xad\xe6\x96\x87\xe5\xad\x97\xe7\xac\xa6 and so on, with words for more than a row of "
                 "eighty columns";
    v.hypothesis = "tab\there\nand a second line\r\x7f";
    for (unsigned columns = 1; columns < 120; columns++)
        for (unsigned rows = 3; rows < 10; rows++) {
            KS_AUTO_STR struct ks_str out = KS_STR_INIT;
            ks_live_render(&v, columns, rows, false, &out);
            check_fits(ks_str_cstr(&out), columns < 20 ? 20 : columns, rows);
            CHECK(!strstr(ks_str_cstr(&out), "\xc2\x9b") && !strchr(ks_str_cstr(&out), '\x7f'));
        }
}

/* Whether a search has a block with stderr on a terminal, or not, and `name` set to `value`. */
static bool has_block(bool terminal, const char *name, const char *value)
{
    int master, slave, status = 0;
    CHECK(openpty(&master, &slave, NULL, NULL, NULL) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (const char *const *v = (const char *const[]){"CI", "NO_COLOR", "MAKELEVEL", NULL}; *v; v++)
            unsetenv(*v);
        setenv("TERM", "xterm", 1);
        if (name)
            setenv(name, value, 1);
        if (terminal)
            dup2(slave, STDERR_FILENO);
        else
            close(STDERR_FILENO);
        ks_say_quiet(name && strcmp(name, "quiet") == 0);
        ks_say_block("title");
        bool on = ks_live_on();
        ks_live_end();
        _exit(on);
    }
    waitpid(pid, &status, 0);
    close(master);
    close(slave);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

TEST(lines_are_for_pipes_ci_builds_and_plain_terminals)
{
    CHECK(has_block(true, NULL, NULL));
    CHECK(has_block(true, "CI", ""));
    CHECK(!has_block(false, NULL, NULL));
    CHECK(!has_block(true, "CI", "true"));
    CHECK(!has_block(true, "NO_COLOR", "1"));
    CHECK(!has_block(true, "TERM", "dumb"));
    CHECK(!has_block(true, "MAKELEVEL", "1"));
    CHECK(!has_block(true, "quiet", "1"));
}

TEST_MAIN
