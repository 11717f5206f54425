/* Questions that a person types: from a file, a fifo and a terminal. */

#include "driver/human.h"
#include "tests/unit/test.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/process.h"

#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *dir;

static const char *path_of(const char *name)
{
    static struct ks_str path;
    struct ks_err err;
    if (!dir)
        CHECK_OK(ks_dir_make_temp("test-human", &dir, &err));
    ks_path_join(&path, dir, name);
    return ks_str_cstr(&path);
}

static struct ks_human *open_text(const char *text)
{
    struct ks_err err;
    struct ks_human *h = NULL;
    const char *path = path_of("questions");
    CHECK_OK(ks_file_write_atomic(path, text, strlen(text), 0644, &err));
    CHECK_OK(ks_human_open(path, &h, &err));
    return h;
}

TEST(a_file_gives_a_question_a_line_until_it_ends)
{
    KS_AUTO_STR struct ks_str q = KS_STR_INIT;
    enum ks_layer layer;
    struct ks_human *h = open_text("compute: why at all?\r\n\nWho needs: the second pass?\nsynchronization:does anybody wait?");
    CHECK(ks_human_ask(h, "start", 0, &layer, &q));
    CHECK_INT(layer, KS_LAYER_COMPUTE);
    CHECK_STR(ks_str_cstr(&q), "why at all?");
    CHECK(!ks_human_ask(h, "no-gain", 0, &layer, &q)); /* passes, and is asked again at the next point */
    CHECK(ks_human_ask(h, "no-gain", 0, &layer, &q));
    CHECK_INT(layer, KS_N_LAYERS);
    CHECK_STR(ks_str_cstr(&q), "Who needs: the second pass?");
    CHECK(ks_human_ask(h, "budget", 0, &layer, &q));
    CHECK_INT(layer, KS_LAYER_SYNCHRONIZATION);
    CHECK_STR(ks_str_cstr(&q), "does anybody wait?");
    for (int i = 0; i < 3; i++)
        CHECK(!ks_human_ask(h, "budget", 0, &layer, &q));
    ks_human_free(h);
}

TEST(a_line_that_is_too_long_is_not_asked_and_the_next_one_is)
{
    KS_AUTO_STR struct ks_str q = KS_STR_INIT, text = KS_STR_INIT;
    enum ks_layer layer;
    for (int i = 0; i <= KS_MAX_OWN_QUESTION_BYTES; i++)
        ks_str_addc(&text, 'x');
    ks_str_add(&text, "\nshort?\n");
    struct ks_human *h = open_text(ks_str_cstr(&text));
    CHECK(ks_human_ask(h, "start", 0, &layer, &q));
    CHECK_STR(ks_str_cstr(&q), "short?");
    ks_human_free(h);
}

TEST(a_fifo_waits_for_its_writer_and_no_longer_than_the_time)
{
    KS_AUTO_STR struct ks_str q = KS_STR_INIT;
    enum ks_layer layer;
    struct ks_err err;
    struct ks_human *h = NULL;
    const char *path = path_of("fifo");
    CHECK_INT(mkfifo(path, 0600), 0);
    CHECK_OK(ks_human_open(path, &h, &err));
    int64_t begin_ns = ks_clock_ns();
    CHECK(!ks_human_ask(h, "start", begin_ns + 300000000, &layer, &q));
    CHECK(ks_clock_ns() - begin_ns < 5000000000);
    for (int i = 0; i < 2; i++) { /* one writer after the other */
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        CHECK(fd >= 0 && write(fd, "half a", 6) == 6 && write(fd, " line?\n", 7) == 7);
        close(fd);
        CHECK(ks_human_ask(h, "start", 0, &layer, &q));
        CHECK_STR(ks_str_cstr(&q), "half a line?");
    }
    ks_human_free(h);
}

/* In a session of its own: with a terminal it reads a question there and says it on stdout, without one it says why not. */
static int at_terminal(void)
{
    KS_AUTO_STR struct ks_str q = KS_STR_INIT;
    enum ks_layer layer;
    struct ks_err err;
    struct ks_human *h = NULL;
    if (ks_human_open(NULL, &h, &err) != KS_OK)
        return strstr(err.message, "cannot find a terminal") ? 7 : 1;
    bool asked = ks_human_ask(h, "start", 0, &layer, &q);
    ks_human_free(h);
    return asked && layer == KS_LAYER_COMPUTE && strcmp(ks_str_cstr(&q), "is it so?") == 0 ? 0 : 1;
}

TEST(at_a_terminal_the_line_is_typed_and_without_one_that_is_said)
{
    int master, status = -1;
    char shown[512] = "";
    pid_t pid = forkpty(&master, NULL, NULL, NULL);
    if (pid == 0)
        _exit(at_terminal());
    CHECK(pid > 0 && write(master, "compute: is it so?\n", 19) == 19);
    for (size_t n = 0; n < sizeof shown - 1;) {
        ssize_t got = read(master, shown + n, sizeof shown - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
    CHECK_CONTAINS(shown, "your question (start;");
    close(master);
    pid = fork();
    if (pid == 0)
        _exit(setsid() < 0 ? 2 : at_terminal());
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 7);
    struct ks_err err;
    CHECK_OK(ks_dir_remove(dir, &err));
}

TEST_MAIN
