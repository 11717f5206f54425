#include "base/process.h"
#include "driver/cmdline.h"
#include "driver/stand_aside.h"
#include "tests/unit/test.h"

#include "base/file.h"

#include <ctype.h>

static struct ks_arena arena;

static struct ks_cmdline parse(char *const *argv, const char *prepend, const char *append)
{
    struct ks_cmdline c;
    ks_cmdline_parse(argv, prepend, append, &arena, &c);
    return c;
}
#define PARSE(...) parse((char *const[]){"kscc", __VA_ARGS__, NULL}, NULL, NULL)

/* The words nvcc gets on its command line, joined with '|'. */
static const char *passed(const struct ks_cmdline *c, struct ks_str *prepend, struct ks_str *append)
{
    struct ks_args args;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    bool changed;
    ks_args_init(&args);
    ks_cmdline_nvcc_argv(c, "nvcc", &args, prepend, append, &changed);
    for (size_t i = 1; i < args.n; i++)
        ks_str_addf(&text, "%s%s", i > 1 ? "|" : "", args.v[i]);
    ks_args_release(&args);
    return ks_arena_strdup(&arena, ks_str_cstr(&text));
}

static const char *passed_argv(const struct ks_cmdline *c)
{
    KS_AUTO_STR struct ks_str prepend = KS_STR_INIT, append = KS_STR_INIT;
    return passed(c, &prepend, &append);
}

TEST(table_is_sorted_unique_and_legal)
{
    for (size_t i = 0; i < ks_n_flags; i++) {
        const struct ks_flag *f = &ks_flags[i];
        if (i > 0) {
            int order = strcmp(ks_flags[i - 1].long_name, f->long_name);
            CHECK(order < 0 || (order == 0 && strcmp(ks_flags[i - 1].short_name, f->short_name) < 0));
        }
        CHECK(f->long_name[0] || f->short_name[0]);
        CHECK(strchr(f->long_name, '=') == NULL && f->long_name[0] != '-');
        CHECK(strchr(f->short_name, '=') == NULL && f->short_name[0] != '-');
        bool one_letter = f->short_name[0] && !f->short_name[1];
        CHECK((f->form != KS_FORM_JOINED && f->form != KS_FORM_JOINED_LIST) || one_letter);
        CHECK(!(f->bits & KS_FLAG_FILES) || ks_flag_is_list(f));
        for (size_t j = 0; j < i; j++)
            CHECK(!f->short_name[0] || strcmp(f->short_name, ks_flags[j].short_name) != 0);
    }
}

/* Every option that the installed nvcc lists is in the table under both names and with the right arity, and nothing but the
 * hidden rows is missing from its list. */
TEST(table_agrees_with_the_installed_nvcc)
{
    char *const argv[] = {KSCC_CUDA_ROOT "/bin/nvcc", "--help", NULL};
    struct ks_spawn s;
    struct ks_exit e;
    struct ks_err err = {0};
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_spawn_init(&s);
    s.argv = argv;
    CHECK_OK(ks_process_run(&s, &out, NULL, &e, &err));
    size_t n_listed = 0, n_open = 0;
    for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n")) {
        char name[128], rest[256];
        if (sscanf(line, "--%127s %255[^\n]", name, rest) != 2)
            continue;
        n_listed++;
        const char *value = NULL;
        char word[160];
        snprintf(word, sizeof(word), "--%s", name);
        const struct ks_flag *f = ks_flag_match(word, &value);
        if (!f) {
            printf("nvcc lists --%s, the table does not\n", name);
            CHECK(f != NULL);
            continue;
        }
        char *paren = strrchr(rest, '(');
        if (paren && paren[1] == '-') {
            paren[strcspn(paren, ")")] = '\0';
            CHECK_STR(f->short_name, paren + 2);
        }
        bool shows_value = rest[0] != '(' && rest[0] != '-';
        CHECK(!shows_value || ks_flag_takes_value(f));
    }
    for (size_t i = 0; i < ks_n_flags; i++)
        n_open += !(ks_flags[i].bits & KS_FLAG_HIDDEN);
    CHECK(n_listed > 100);
    CHECK_INT(n_open, n_listed);
}

/* How nvcc takes `word` when nothing follows: whether it knows it, and whether it asks for a value. */
static void ask_nvcc(const char *word, bool *ret_known, bool *ret_wants_value)
{
    char *const argv[] = {KSCC_CUDA_ROOT "/bin/nvcc", "kscc_none.cu", "-dryrun", "-E", (char *)word, NULL};
    struct ks_spawn s;
    struct ks_exit e;
    struct ks_err err = {0};
    KS_AUTO_STR struct ks_str out = KS_STR_INIT, errors = KS_STR_INIT;
    ks_spawn_init(&s);
    s.argv = argv;
    CHECK_OK(ks_process_run(&s, &out, &errors, &e, &err));
    *ret_known = !strstr(ks_str_cstr(&errors), "Unknown option");
    *ret_wants_value = strstr(ks_str_cstr(&errors), "argument expected after") != NULL;
}

/* Every row, the hidden ones too, in each of its spellings: known to the installed nvcc, and with the arity of the table. */
TEST(every_row_is_an_option_of_the_installed_nvcc)
{
    for (size_t i = 0; i < ks_n_flags; i++) {
        const struct ks_flag *f = &ks_flags[i];
        for (int is_long = 0; is_long < 2; is_long++) {
            char word[160];
            bool known, wants_value;
            snprintf(word, sizeof(word), "%s%s", is_long ? "--" : "-", is_long ? f->long_name : f->short_name);
            if (!(is_long ? f->long_name : f->short_name)[0])
                continue;
            ask_nvcc(word, &known, &wants_value);
            if (!known || wants_value != ks_flag_eats_next(f, NULL))
                printf("%s: %s, %s a value\n", word, known ? "known" : "unknown", wants_value ? "wants" : "does not want");
            CHECK(known);
            CHECK_INT(wants_value, ks_flag_eats_next(f, NULL));
        }
    }
}

TEST(a_value_is_eaten_whatever_it_looks_like)
{
    struct ks_cmdline c = PARSE("-o", "-O-agent", "-I", "-c", "-Xcompiler", "-E", "a.cu");
    CHECK(!c.has_ours);
    CHECK_STR(ks_cmdline_value(&c, "output-file"), "-O-agent");
    CHECK(ks_cmdline_find(&c, "compile") == NULL);
    CHECK(ks_cmdline_find(&c, "preprocess") == NULL);
    CHECK_INT(c.inputs.n, 1);
    CHECK_STR(passed_argv(&c), "-o|-O-agent|-I|-c|-Xcompiler|-E|a.cu");
    ks_cmdline_release(&c);
}

TEST(our_switches_are_seen_and_taken_out_at_option_position)
{
    struct ks_cmdline c = PARSE("-O-agent", "-O3", "--kscc-device=emulated", "-c", "a.cu", "-O-agent=trials:3");
    CHECK(c.has_ours);
    CHECK(c.not_understood == NULL);
    CHECK_STR(passed_argv(&c), "-O3|-c|a.cu");
    CHECK_STR(ks_cmdline_value(&c, "optimize"), "3");
    ks_cmdline_release(&c);
}

TEST(forms_glued_equals_and_separate)
{
    struct ks_cmdline c = PARSE("-DA=1,B=2", "-o=x.o", "--std=c++17", "-lm", "-lib", "-t4", "-m64", "a.cu", "-arch", "sm_90a");
    CHECK(c.not_understood == NULL);
    CHECK_STR(ks_cmdline_value(&c, "define-macro"), "A=1,B=2");
    CHECK_STR(ks_cmdline_value(&c, "output-file"), "x.o");
    CHECK_STR(ks_cmdline_value(&c, "std"), "c++17");
    CHECK_STR(ks_cmdline_value(&c, "library"), "m");
    CHECK(ks_cmdline_find(&c, "lib") != NULL);
    CHECK_STR(ks_cmdline_value(&c, "threads"), "4");
    CHECK(ks_cmdline_find(&c, "m64") != NULL);
    CHECK_STR(ks_cmdline_value(&c, "gpu-architecture"), "sm_90a");
    ks_cmdline_release(&c);
}

TEST(unknown_words_are_not_understood_unless_forwarded)
{
    struct ks_cmdline c = PARSE("-c", "-Wall", "a.cu");
    CHECK_CONTAINS(c.not_understood, "'-Wall'");
    ks_cmdline_release(&c);
    c = PARSE("-Wall", "-c", "a.cu", "-forward-unknown-to-host-compiler");
    CHECK(c.not_understood == NULL);
    ks_cmdline_release(&c);
    c = PARSE("-ox.o", "-c", "a.cu"); /* no glued value but for one-letter options that nvcc says so of */
    CHECK_CONTAINS(c.not_understood, "'-ox.o'");
    ks_cmdline_release(&c);
    c = PARSE("-c", "a.cu", "-o");
    CHECK_CONTAINS(c.not_understood, "'-o'");
    ks_cmdline_release(&c);
}

static void check_words(struct ks_words *w, const char *const *expect, size_t n)
{
    CHECK_INT(w->n, n);
    for (size_t i = 0; i < w->n && i < n; i++)
        CHECK_STR(w->data[i].text, expect[i]);
    ks_words_release(w);
}

TEST(words_of_options_files_follow_nvccs_quoting)
{
    struct ks_words w = {0};
    const char *text = "-DX=\"one two\"\r\n-I dir\\ with\\ space 'a b' # \\\"q\\\" \\ -E a\\  x\vy \"\" \"  \" \"a\\\"b\"";
    const char *const expect[] = {"-DX=one two", "-I", "dir with space", "'a", "b'", "#", "q", "-E", "a", "x\vy", "", "  ", "ab"};
    CHECK(ks_words_split_file(text, strlen(text), KS_WORD_ARGV, KS_NO_WORD, &arena, &w));
    check_words(&w, expect, sizeof(expect) / sizeof(expect[0]));
}

TEST(quotes_of_options_files_stay_behind_a_backslash)
{
    struct ks_words w = {0};
    const char *text = "x\"a\\\\\"b x\"\\\\\\\\\" \\\\\"x\" \\ \"x\" \"\\ x\" x\\\n";
    const char *const expect[] = {"xa\\\"b", "x\\\\\"", "\\\"x", "x", " x", "x\n"};
    CHECK(ks_words_split_file(text, strlen(text), KS_WORD_ARGV, KS_NO_WORD, &arena, &w));
    check_words(&w, expect, sizeof(expect) / sizeof(expect[0]));
}

TEST(open_quotes_of_options_files_are_seen)
{
    static const char *const open[] = {"-w \"x", "x\"", "-w \\", "\"\\\"", "\\\\\"x"};
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
        struct ks_words w = {0};
        CHECK(!ks_words_split_file(open[i], strlen(open[i]), KS_WORD_ARGV, KS_NO_WORD, &arena, &w));
        ks_words_release(&w);
    }
}

TEST(words_of_the_variables_stay_as_they_stand)
{
    struct ks_words w = {0};
    const char *const expect[] = {"-DX=\"one two\"", "a\nb", "dir\\", "x", "\"p\\\" q\"", "'a", "b'"};
    ks_words_split_env(" -DX=\"one two\"\ta\nb dir\\ x \"p\\\" q\" 'a b'", KS_WORD_APPEND, &arena, &w);
    check_words(&w, expect, sizeof(expect) / sizeof(expect[0]));
}

TEST(an_optional_value_is_no_option)
{
    struct ks_cmdline c = PARSE("-Ofc", "-O-agent", "-hls", "gen-lcs", "-c", "a.cu", "-Ofc");
    CHECK(c.has_ours);
    CHECK(c.not_understood == NULL);
    CHECK_STR(ks_cmdline_value(&c, "host-linker-script"), "gen-lcs");
    CHECK_INT(c.inputs.n, 1);
    CHECK_STR(passed_argv(&c), "-Ofc|-hls|gen-lcs|-c|a.cu|-Ofc");
    ks_cmdline_release(&c);
    c = PARSE("-Ofc", "max", "-c", "a.cu");
    CHECK_STR(ks_cmdline_value(&c, "Ofast-compile"), "max");
    ks_cmdline_release(&c);
}

TEST(lists_split_at_commas_outside_quotes_and_brackets)
{
    const char **parts;
    CHECK_INT(ks_list_split("a,b", &arena, &parts), 2);
    CHECK_STR(parts[1], "b");
    CHECK_INT(ks_list_split("DX=\"a,b\",c", &arena, &parts), 2);
    CHECK_STR(parts[0], "DX=\"a,b\"");
    CHECK_INT(ks_list_split("-Wa\\,-x", &arena, &parts), 1);
    CHECK_INT(ks_list_split("arch=compute_90,code=[sm_90,compute_90]", &arena, &parts), 2);
    CHECK_STR(parts[1], "code=[sm_90,compute_90]");
    CHECK_INT(ks_list_split("", &arena, &parts), 1);
}

TEST(switches_in_environment_variables_leave_the_rest_byte_for_byte)
{
    struct ks_cmdline c = parse((char *const[]){"kscc", "-c", "a.cu", NULL}, "-O-agent  -DX=\"a b\"", "--kscc-quiet");
    KS_AUTO_STR struct ks_str prepend = KS_STR_INIT, append = KS_STR_INIT;
    CHECK(c.has_ours);
    CHECK_STR(passed(&c, &prepend, &append), "-c|a.cu");
    CHECK_STR(ks_str_cstr(&prepend), "-DX=\"a b\"");
    CHECK_INT(append.len, 0);
    ks_cmdline_release(&c);
}

TEST(an_option_at_the_end_of_prepend_flags_eats_the_first_word)
{
    struct ks_cmdline c = parse((char *const[]){"kscc", "-O-agent", "-c", "a.cu", NULL}, "-o", NULL);
    CHECK(!c.has_ours); /* nvcc reads it as the value of -o */
    CHECK_STR(ks_cmdline_value(&c, "output-file"), "-O-agent");
    ks_cmdline_release(&c);
}

TEST(options_files_are_kept_unless_they_hold_a_switch_of_ours)
{
    struct ks_err err = {0};
    KS_AUTO_FREE char *dir = NULL;
    CHECK_OK(ks_dir_make_temp("test-cmdline", &dir, &err));
    char *outer = ks_arena_printf(&arena, "%s/outer", dir), *inner = ks_arena_printf(&arena, "%s/inner", dir);
    char *outer_text = ks_arena_printf(&arena, "-DA -optf %s", inner);
    CHECK_OK(ks_file_write_atomic(outer, outer_text, strlen(outer_text), 0644, &err));
    CHECK_OK(ks_file_write_atomic(inner, "-DB=\"x y\" -c", 12, 0644, &err));
    struct ks_cmdline c = PARSE("-optf", outer, "a.cu");
    CHECK_STR(passed_argv(&c), ks_arena_printf(&arena, "-optf|%s|a.cu", outer));
    CHECK(ks_cmdline_find(&c, "compile") != NULL);
    ks_cmdline_release(&c);
    CHECK_OK(ks_file_write_atomic(inner, "-O-agent -DB=\"x y\" -c", 21, 0644, &err));
    c = PARSE("-optf", outer, "a.cu");
    CHECK(c.has_ours);
    CHECK_STR(passed_argv(&c), "-DA|-DB=x y|-c|a.cu");
    ks_cmdline_release(&c);
    c = parse((char *const[]){"kscc", "-c", "a.cu", NULL}, NULL, ks_arena_printf(&arena, "-w -optf %s -g", outer));
    KS_AUTO_STR struct ks_str prepend = KS_STR_INIT, append = KS_STR_INIT;
    CHECK_STR(passed(&c, &prepend, &append), "-c|a.cu|-w|-DA|-DB=x y|-c|-g"); /* the variable is given up */
    CHECK_INT(append.len, 0);
    ks_cmdline_release(&c);
    CHECK_OK(ks_file_write_atomic(inner, "-O-agent \"x", 11, 0644, &err));
    c = PARSE("-optf", outer, "a.cu"); /* nvcc refuses the open quote: it has to read it */
    CHECK(!c.has_ours);
    CHECK_CONTAINS(c.not_understood, "unfinished quoting");
    CHECK_STR(passed_argv(&c), ks_arena_printf(&arena, "-optf|%s|a.cu", outer));
    ks_cmdline_release(&c);
    c = PARSE("-optf=/dev/stdin", "-c", "a.cu"); /* not read: nvcc could not read it again */
    CHECK_CONTAINS(c.not_understood, "/dev/stdin");
    ks_cmdline_release(&c);
    c = PARSE("-optf=/nonexistent/file", "-c", "a.cu");
    CHECK_CONTAINS(c.not_understood, "/nonexistent/file");
    ks_cmdline_release(&c);
    CHECK_OK(ks_dir_remove(dir, &err));
}

TEST(build_lines_are_flat_and_have_no_side_outputs)
{
    struct ks_cmdline c =
        PARSE("-O-agent", "-O3", "-MD", "-MF", "x.d", "--keep", "-v", "-c", "a.cu", "-o", "out/a.o", "-DX", "-t", "2");
    struct ks_args args;
    size_t index;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_args_init(&args);
    ks_cmdline_build_argv(&c, "nvcc", 0, "/s/candidate.cu", NULL, "/t/c.o", &args, &index);
    ks_args_quote(&text, args.v);
    CHECK_STR(ks_str_cstr(&text), "nvcc -O3 -DX -c /s/candidate.cu -o /t/c.o");
    CHECK_STR(args.v[index], "/s/candidate.cu");
    ks_args_release(&args);
    ks_cmdline_release(&c);
}

TEST(a_line_for_one_architecture_drops_the_users_list)
{
    struct ks_cmdline c = PARSE("-gencode", "arch=compute_80,code=sm_80", "-arch=sm_70", "-O3", "-c", "a.cu");
    struct ks_args args;
    size_t index;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_args_init(&args);
    ks_cmdline_build_argv(&c, "nvcc", 0, NULL, "sm_90a", "c.o", &args, &index);
    for (size_t i = 0; i < args.n; i++)
        ks_str_addf(&text, "%s ", args.v[i]);
    CHECK_STR(ks_str_cstr(&text), "nvcc -O3 --generate-code=arch=compute_90a,code=[sm_90a,compute_90a] -c a.cu -o c.o ");
    ks_args_release(&args);
    ks_cmdline_release(&c);
}

TEST(object_names_are_nvccs)
{
    struct ks_cmdline c = PARSE("-c", "dd/a.b.cu");
    CHECK_STR(ks_cmdline_object(&c, 0), "a.b.o");
    ks_cmdline_release(&c);
    c = PARSE("-c", "a.cu", "-odir", "objs");
    CHECK_STR(ks_cmdline_object(&c, 0), "objs/a.o");
    ks_cmdline_release(&c);
    c = PARSE("-c", "a.cu", "-o", "x/y.obj");
    CHECK_STR(ks_cmdline_object(&c, 0), "x/y.obj");
    ks_cmdline_release(&c);
}

static void check_aside(struct ks_cmdline c, bool yes, const char *reason)
{
    struct ks_stand_aside a = ks_stand_aside(&c);
    CHECK_INT(a.yes, yes);
    if (reason)
        CHECK_CONTAINS(a.reason, reason);
    else
        CHECK(a.reason == NULL);
    ks_cmdline_release(&c);
}

TEST(the_agent_stands_aside_where_it_must)
{
    check_aside(PARSE("-c", "a.cu"), false, NULL);
    check_aside(PARSE("-x", "cu", "-c", "a.cpp"), false, NULL);
    check_aside(PARSE("-c", "a.cpp"), true, NULL);
    check_aside(PARSE("-E", "a.cu"), true, NULL);
    check_aside(PARSE("-c", "-ptx", "a.cu"), true, NULL);
    check_aside(PARSE("-M", "a.cu"), true, NULL);
    check_aside(PARSE("--version"), true, NULL);
    check_aside(PARSE("-dryrun", "-c", "a.cu"), true, NULL);
    check_aside(PARSE("-v", "__cmake_determine_cuda"), true, NULL);
    check_aside(PARSE("-c", "conftest.cu"), true, NULL);
    check_aside(PARSE("--keep", "-v", "CMakeCUDACompilerId.cu"), true, NULL);
    check_aside(PARSE("-c", "b/CMakeFiles/CMakeTmp/src.cu"), true, NULL);
    check_aside(PARSE("-c", "b/CMakeFiles/CMakeScratch/TryCompile-Ab1/src.cu"), true, NULL);
    check_aside(PARSE("a.cu", "-o", "a"), false, NULL);
    check_aside(PARSE("a.cu", "-odir", "d"), true, "another folder");
    check_aside(PARSE("-c", "-G", "a.cu"), false, NULL);
    check_aside(PARSE("-c", "-dlto", "a.cu"), true, "'-dlto'");
    check_aside(PARSE("-cubin", "a.cu"), true, "'-cubin' leaves no host code");
    check_aside(PARSE("--fatbin", "a.cu"), true, "'--fatbin' leaves no host code");
    check_aside(PARSE("-cubin", "a.ptx"), true, NULL);
    check_aside(PARSE("-cubin", "-ptx", "a.cu"), true, NULL);
    check_aside(PARSE("-dc", "-gencode", "arch=compute_90,code=lto_90", "a.cu"), true, "lto_90' leaves the machine code");
    check_aside(PARSE("-c", "-Xcompiler", "-O2,-flto=auto", "a.cu"), true, "-flto=auto' leaves the machine code");
    check_aside(PARSE("-c", "-Xcompiler", "-fno-lto", "a.cu"), false, NULL);
    check_aside(PARSE("-c", "-arch=compute_90", "-code=sm_90,compute_90", "a.cu"), false, NULL);
    check_aside(PARSE("-dc", "a.cu"), false, NULL);
    check_aside(PARSE("-c", "-rdc=true", "a.cu"), false, NULL);
    check_aside(PARSE("-c", "-rdc=false", "a.cu"), false, NULL);
    check_aside(PARSE("-x", "cu", "-c", "-"), true, "standard input");
}

TEST_MAIN
