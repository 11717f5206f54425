#include "base/diag.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/layer.h"
#include "base/limits.h"
#include "base/process.h"
#include "base/regex.h"
#include "tests/unit/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(str_grows_and_detaches)
{
    struct ks_str s = KS_STR_INIT;
    CHECK_STR(ks_str_cstr(&s), "");
    for (int i = 0; i < 1000; i++)
        ks_str_addf(&s, "%d,", i);
    CHECK_INT(s.len, 3890);
    CHECK(ks_str_starts(s.data, "0,1,2,"));
    CHECK(ks_str_ends(s.data, ",999,"));
    char *p = ks_str_detach(&s, NULL);
    CHECK_INT(s.len, 0);
    free(p);
    CHECK_STR(ks_plural_s(1), "");
    CHECK_STR(ks_plural_s(0), "s");
    CHECK_STR(ks_plural_s(2), "s");
}

TEST(args_quote_as_a_shell_would)
{
    char *argv[] = {"nvcc", "-Xcompiler", "-Wall,-fPIC", "a b", "it's", "", NULL};
    struct ks_str s = KS_STR_INIT;
    ks_args_quote(&s, argv);
    CHECK_STR(s.data, "nvcc -Xcompiler -Wall,-fPIC 'a b' 'it'\\''s' ''");
    ks_str_release(&s);
}

TEST(errors_keep_the_code_and_gain_context)
{
    struct ks_err err = {0};
    CHECK_INT(ks_fail(&err, KS_ERR_IO, "cannot open '%s'", "x"), KS_ERR_IO);
    CHECK_INT(ks_wrap(&err, "kernel '%s'", "k"), KS_ERR_IO);
    CHECK_STR(err.message, "kernel 'k': cannot open 'x'");
    CHECK_STR(ks_code_name(KS_ERR_TIMEOUT), "KS_ERR_TIMEOUT");
    CHECK_INT(ks_code_exit_status(KS_OK), 0);
    for (int c = KS_OK + 1; c < KS_N_CODES; c++)
        CHECK(ks_code_exit_status(c) != 0);
}

TEST(arena_is_zeroed_and_aligned)
{
    struct ks_arena a;
    ks_arena_init(&a);
    for (size_t n = 1; n < 200000; n = n * 3 + 1) {
        unsigned char *p = ks_arena_alloc(&a, n);
        CHECK_INT((uintptr_t)p % 16, 0);
        CHECK_INT(p[0] | p[n - 1], 0);
        memset(p, 0xff, n);
    }
    CHECK_STR(ks_arena_printf(&a, "%s-%d", "x", 7), "x-7");
    ks_arena_release(&a);
}

TEST(json_round_trip_and_place_of_an_error)
{
    struct ks_err err = {0};
    struct ks_json *j = NULL;
    const char *text = "{\"a\": [1, 2.5, \"x\"], \"A\": true}\n";
    CHECK_OK(ks_json_parse(text, strlen(text), "t.json", &j, &err));
    CHECK_INT(ks_json_len(ks_json_get(j, "a")), 3);
    CHECK_NEAR(ks_json_num(ks_json_at(ks_json_get(j, "a"), 1), 0), 2.5, 0);
    CHECK(ks_json_get_bool(j, "A", false));
    CHECK(!ks_json_get(j, "b"));
    ks_json_free(j);
    text = "{\"a\": 1,\n  oops}";
    CHECK_INT(ks_json_parse(text, strlen(text), "t.json", &j, &err), KS_ERR_SYNTAX);
    CHECK_INT(err.loc.line, 2);
    text = "{} trailing";
    CHECK_INT(ks_json_parse(text, strlen(text), "t.json", &j, &err), KS_ERR_SYNTAX);
}

TEST(json_writes_no_nan)
{
    struct ks_json *j = ks_json_object();
    struct ks_str s = KS_STR_INIT;
    ks_json_set_num(j, "x", NAN);
    ks_json_set_num(j, "x", INFINITY);
    ks_json_set_i64(j, "n", 999999999999999);
    ks_json_print(j, &s);
    CHECK_STR(s.data, "{\"x\":null,\"n\":999999999999999}");
    ks_str_release(&s);
    ks_json_free(j);
}

TEST(what_leaves_is_utf8_and_hides_nothing)
{
    static const char text[] = "a\xc3\xa9 \xe9 \xe2\x82\xac \xf0\x9f\x98\x80 \xc0\xaf \xed\xa0\x80 \xc3";
    struct ks_json *j = ks_json_object();
    KS_AUTO_STR struct ks_str s = KS_STR_INIT, seen = KS_STR_INIT;
    ks_json_set_str(j, "n\xff", text);
    ks_json_make_utf8(j);
    ks_json_print(j, &s);
    CHECK_STR(s.data, "{\"n?\":\"a\xc3\xa9 ? \xe2\x82\xac \xf0\x9f\x98\x80 ?? ??? ?\"}");
    ks_json_free(j);
    static const char odd[] = "\tcaf\xc3\xa9\r\nx\ry\x1b[2K \xe9 \xc2\x9b \xe2\x80\xae} \xe2\x81\xa6 \xe2\x82\xac\x7f\n";
    ks_str_add_visible(&seen, odd, strlen(odd));
    CHECK_STR(seen.data, "\tcaf\xc3\xa9\r\nx\\x0dy\\x1b[2K \\xe9 <U+009B> <U+202E>} <U+2066> \xe2\x82\xac\\x7f\n");
}

TEST(regex_groups_and_limits)
{
    struct ks_err err = {0};
    struct ks_regex *re = NULL;
    struct ks_match m;
    bool found = false;
    CHECK_OK(ks_regex_new("(\\w+)=(\\d+)?", "", &re, &err));
    CHECK_OK(ks_regex_match(re, "a; B=12", 7, 0, &m, &found, &err));
    CHECK(found);
    CHECK_INT(m.begin[1], 3);
    CHECK_INT(m.end[2], 7);
    CHECK_OK(ks_regex_match(re, "B=", 2, 0, &m, &found, &err));
    CHECK(found && m.begin[2] == SIZE_MAX);
    ks_regex_free(re);
    CHECK_OK(ks_regex_new("(a+)+$", "", &re, &err));
    CHECK_INT(ks_regex_match(re, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 39, 0, &m, &found, &err), KS_ERR_LIMIT);
    ks_regex_free(re);
    CHECK_INT(ks_regex_new("(", "", &re, &err), KS_ERR_SYNTAX);
}

TEST(hash_is_sha256_and_fields_do_not_run_together)
{
    char a[65], b[65];
    struct ks_hash h;
    ks_hash_hex("abc", 3, a);
    CHECK_STR(a, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    ks_hash_init(&h);
    ks_hash_update_field(&h, "ab", 2);
    ks_hash_update_field(&h, "c", 1);
    ks_hash_final_hex(&h, a);
    ks_hash_init(&h);
    ks_hash_update_field(&h, "a", 1);
    ks_hash_update_field(&h, "bc", 2);
    ks_hash_final_hex(&h, b);
    CHECK(strcmp(a, b) != 0);
}

TEST(files_are_written_whole_and_folders_removed)
{
    struct ks_err err = {0};
    char *dir = NULL;
    struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    CHECK_OK(ks_dir_make_temp("kscc-test", &dir, &err));
    ks_path_join(&path, dir, "a/b/c");
    CHECK_OK(ks_dir_make(path.data, &err));
    ks_path_join(&path, path.data, "f");
    CHECK_OK(ks_file_write_atomic(path.data, "hello", 5, 0640, &err));
    CHECK_OK(ks_file_append_line(path.data, " world", &err));
    CHECK_OK(ks_file_read(path.data, 100, &text, &err));
    CHECK_STR(text.data, "hello\n world\n"); /* what a kill cut short does not cost the next line */
    CHECK_INT(ks_file_read(path.data, 5, &text, &err), KS_ERR_LIMIT);
    struct stat st;
    CHECK_INT(stat(path.data, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0640);
    CHECK_INT(ks_file_read("/nonexistent/x", 5, &text, &err), KS_ERR_NOT_FOUND);
    CHECK_CONTAINS(err.message, "cannot open '/nonexistent/x'");
    ks_path_join(&path, dir, "link");
    CHECK_INT(symlink("/etc", path.data), 0);
    CHECK_OK(ks_dir_remove(dir, &err));
    CHECK(!ks_file_exists(dir));
    CHECK(ks_file_exists("/etc/passwd"));
    free(dir);
    ks_str_release(&path);
    ks_str_release(&text);
}

static struct ks_exit run(const char *script, struct ks_str *out, int64_t timeout_ms)
{
    struct ks_err err = {0};
    char *argv[] = {"sh", "-c", (char *)(uintptr_t)script, NULL};
    struct ks_spawn s;
    ks_spawn_init(&s);
    s.argv = argv;
    s.timeout_ms = timeout_ms;
    s.own_group = true;
    struct ks_exit e = {0};
    CHECK_OK(ks_process_run(&s, out, NULL, &e, &err));
    return e;
}

TEST(every_way_a_child_ends_is_told_apart)
{
    struct ks_str out = KS_STR_INIT;
    struct ks_exit e = run("echo hi; exit 3", &out, 0);
    CHECK_STR(out.data, "hi\n");
    CHECK(e.kind == KS_EXIT_STATUS && e.status == 3 && !ks_exit_ok(&e));
    e = run("kill -SEGV $$", &out, 0);
    CHECK(e.kind == KS_EXIT_SIGNAL && e.status == SIGSEGV);
    e = run("sleep 60 & sleep 60", &out, 200);
    CHECK(e.kind == KS_EXIT_TIMEOUT);
    CHECK(e.wall_ns < 5000000000);
    e = run("yes", &out, 20000);
    CHECK(e.kind == KS_EXIT_OUTPUT_LIMIT);
    ks_str_clear(&out);
    ks_exit_describe(&e, &out);
    CHECK_CONTAINS(out.data, "printed more than");
    ks_str_release(&out);
}

static void on_interrupt(int number)
{
    (void)number;
}

static void *interrupt_the_group(void *ended)
{
    while (!atomic_load((atomic_bool *)ended))
        kill(0, SIGINT);
    return NULL;
}

/* A Ctrl-C may come between the birth of the child and its leaving of the terminal's group. */
TEST(a_child_of_its_own_group_is_not_hit_by_a_signal_to_the_parents)
{
    enum { N = 300 };
    pid_t group = fork();
    if (group == 0) {
        atomic_bool ended = false;
        pthread_t thread;
        int n_hit = 0;
        setpgid(0, 0);
        signal(SIGINT, on_interrupt);
        if (pthread_create(&thread, NULL, interrupt_the_group, &ended) != 0)
            _exit(2);
        for (int i = 0; i < N; i++) {
            struct ks_err err = {0};
            struct ks_exit e = {0};
            struct ks_spawn s;
            ks_spawn_init(&s);
            s.argv = (char *[]){(char[]){"true"}, NULL};
            s.own_group = true;
            n_hit += ks_process_run(&s, NULL, NULL, &e, &err) != KS_OK || !ks_exit_ok(&e);
        }
        atomic_store(&ended, true);
        pthread_join(thread, NULL);
        _exit(n_hit ? 1 : 0);
    }
    int status = -1;
    CHECK_INT(waitpid(group, &status, 0), group);
    CHECK_INT(status, 0);
}

static void *wait_for(void *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

TEST(threads_are_counted_until_they_end)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[3];
    const int before = ks_process_threads(getpid());
    CHECK(before > 0);
    for (int round = 0; round < 500; round++) {
        pthread_mutex_lock(&mutex);
        for (int i = 0; i < 3; i++)
            pthread_create(&threads[i], NULL, wait_for, &mutex);
        CHECK_INT(ks_process_threads(getpid()), before + 3);
        pthread_mutex_unlock(&mutex);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        CHECK_INT(ks_process_threads(getpid()), before); /* joined, and perhaps still listed by the kernel */
    }
    CHECK_INT(ks_process_threads(-1), 0);
}

TEST(a_missing_program_is_an_error_not_a_status)
{
    struct ks_err err = {0};
    char *argv[] = {"/nonexistent/program", NULL};
    struct ks_spawn s;
    ks_spawn_init(&s);
    s.argv = argv;
    struct ks_exit e;
    CHECK_INT(ks_process_run(&s, NULL, NULL, &e, &err), KS_ERR_NOT_FOUND);
}

TEST(a_diagnostic_shows_the_line_and_the_place)
{
    struct ks_diags d;
    struct ks_str out = KS_STR_INIT;
    ks_diags_init(&d);
    ks_diags_add(&d, KS_SEV_REMARK, "a.cu", 2, 5, 3, "compute", "look at %s", "foo");
    const char *src = "line one\n\tx = foo;\n";
    ks_diag_render(&d.data[0], src, strlen(src), false, &out);
    CHECK_STR(out.data, "a.cu:2:5: remark: look at foo [kscc-compute]\n    \tx = foo;\n    \t   ^~~\n");
    ks_str_clear(&out);
    d.data[0].line = 77; /* past the end: the message alone */
    ks_diag_render(&d.data[0], src, strlen(src), false, &out);
    CHECK_STR(out.data, "a.cu:77:5: remark: look at foo [kscc-compute]\n");
    CHECK_INT(ks_diags_count(&d, KS_SEV_ERROR), 0);
    ks_diags_release(&d);
    ks_str_release(&out);
}

TEST(layers_have_their_seven_names)
{
    enum ks_layer layer;
    CHECK_INT(KS_N_LAYERS, 7);
    for (int i = 0; i < KS_N_LAYERS; i++)
        CHECK(ks_layer_parse(ks_layer_text(i), &layer) && (int)layer == i);
    CHECK(!ks_layer_parse("memory", &layer));
}

TEST_MAIN
