/* facts_mutated DIR RUNS [NUMBER [SEEDS]]: the analyzer over mutated .cu texts of DIR, and over those of SEEDS as they are.  Each
 * run takes one text and does one to six things to it: cuts it off, removes, doubles or moves a piece, puts in a word that
 * matters to CUDA or C++, changes a byte.  Whatever comes out is parsed and its hypotheses are derived: no crash, no answer later
 * than LIMIT_S, a syntax error never without a place.  The text of a run that ends badly is in mutated.cu where it was called. */

#include "analyzer/hypothesis.h"
#include "base/file.h"
#include "base/limits.h"
#include "tests/unit/parse_options.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define LIMIT_S 30

static const char *const words[] = {"__global__ ",
                                    "__device__ ",
                                    "__shared__ float s[32][33];",
                                    "extern __shared__ char d[];",
                                    "__syncthreads();",
                                    "template <class T, int N> ",
                                    "<<<1, 32>>>",
                                    "[=] __device__ (int i) { return i; }",
                                    "asm volatile(\"wgmma.fence.sync.aligned;\");",
                                    "for (;;) ",
                                    "#pragma unroll 1\n",
                                    "#define x y\n",
                                    "#include \"nowhere.h\"\n",
                                    "goto l; l:",
                                    "switch (threadIdx.x) { case 1: default: }",
                                    "threadIdx.x / 0",
                                    "9223372036854775807 * ",
                                    "(((((((((((",
                                    "}}",
                                    "{",
                                    "\"",
                                    "/*",
                                    "*(float4 *)&",
                                    "&x[i] + ",
                                    "requires true ",
                                    "__launch_bounds__(0) "};

static uint64_t state;

static size_t below(size_t n) /* xorshift64*; n > 0 */
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (size_t)((state * 2685821657736338717u) >> 33) % n;
}

static void replace(struct ks_str *text, size_t at, size_t len, const char *by, size_t by_len)
{
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_str_addn(&out, text->data, at);
    ks_str_addn(&out, by, by_len);
    ks_str_addn(&out, text->data + at + len, text->len - at - len);
    ks_str_clear(text);
    ks_str_addn(text, out.data, out.len);
}

static void mutate(struct ks_str *text)
{
    if (text->len < 8)
        return;
    size_t at = below(text->len), len = 1 + below(120);
    len = at + len > text->len ? text->len - at : len;
    KS_AUTO_FREE char *piece = ks_xstrndup(text->data + at, len);
    const char *word = words[below(sizeof words / sizeof *words)];
    switch (below(7)) {
    case 0:
        replace(text, at, text->len - at, "", 0);
        break;
    case 1:
        replace(text, at, len, "", 0);
        break;
    case 2:
        replace(text, at, 0, piece, len);
        break;
    case 3:
        replace(text, below(text->len), 0, piece, len);
        break;
    case 4:
        text->data[at] = (char)(1 + below(255));
        break;
    default: /* between two words, where it has the best chance of being understood */
        while (at < text->len && text->data[at] != ' ' && text->data[at] != '\n')
            at++;
        replace(text, at, 0, word, strlen(word));
        break;
    }
}

/* Of processor time: a busy machine is no fault.  0: none. */
static void limit(int seconds)
{
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = seconds}, NULL);
}

static bool run(const char *text, size_t len)
{
    struct ks_arena arena;
    struct ks_diags diags;
    struct ks_facts *facts;
    struct ks_hypotheses h;
    struct ks_parse_options opt;
    struct ks_err err;
    char *argv[] = {(char *)"nvcc", (char *)"-arch=sm_90a", (char *)"-std=c++14", (char *)"-c", (char *)"unit.cu", NULL};
    ks_arena_init(&arena);
    ks_diags_init(&diags);
    parse_options(argv, &arena, &opt);
    limit(LIMIT_S);
    enum ks_code code = ks_facts_parse("unit.cu", text, len, &opt, &arena, &diags, &facts, &err);
    bool ok = code == KS_OK || (code == KS_ERR_SYNTAX && diags.n > 0);
    if (code == KS_OK) {
        ks_hypotheses_derive(facts, NULL, 0, NULL, &arena, &h);
        ks_hypotheses_to_diags(&h, facts, &diags);
        ks_json_free(ks_hypotheses_to_json(&h, facts));
    }
    limit(0);
    if (!ok)
        printf("%s\n", code == KS_ERR_SYNTAX ? "a syntax error without a place" : err.message);
    ks_diags_release(&diags);
    ks_arena_release(&arena);
    return ok;
}

static void late(int signal_number)
{
    static const char text[] = "facts_mutated: no answer in time\n";
    (void)signal_number;
    _exit(write(STDOUT_FILENO, text, sizeof text - 1) < 0 ? 2 : 1);
}

/* Every .cu of a folder as it is.  Returns how many ended badly. */
static int run_seeds(const char *dir, int *ret_n)
{
    KS_AUTO_STR struct ks_str pattern = KS_STR_INIT;
    glob_t found = {0};
    int n_bad = 0;
    struct ks_err err;
    ks_str_addf(&pattern, "%s/*.cu", dir);
    bool any = glob(ks_str_cstr(&pattern), 0, NULL, &found) == 0;
    for (size_t i = 0; any && i < found.gl_pathc; i++) {
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        bool ok = ks_file_read(found.gl_pathv[i], KS_MAX_SOURCE_BYTES, &text, &err) == KS_OK && run(ks_str_cstr(&text), text.len);
        if (!ok)
            printf("%s ended badly\n", found.gl_pathv[i]);
        n_bad += !ok;
    }
    *ret_n = any ? (int)found.gl_pathc : 0;
    globfree(&found);
    return n_bad;
}

static bool mutate_and_run(const char *path)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_err err;
    if (ks_file_read(path, KS_MAX_SOURCE_BYTES, &text, &err) != KS_OK)
        return false;
    for (size_t k = 1 + below(6); k > 0; k--)
        mutate(&text);
    return ks_file_write_atomic("mutated.cu", ks_str_cstr(&text), text.len, 0644, &err) == KS_OK &&
           run(ks_str_cstr(&text), text.len);
}

int main(int argc, char **argv)
{
    KS_AUTO_STR struct ks_str pattern = KS_STR_INIT;
    glob_t found = {0};
    ks_str_addf(&pattern, "%s/*.cu", argc > 1 ? argv[1] : ".");
    long n_runs = argc > 2 ? strtol(argv[2], NULL, 10) : 100;
    state = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    state = state ? state : 1;
    if (glob(ks_str_cstr(&pattern), 0, NULL, &found) != 0) {
        fprintf(stderr, "facts_mutated: no texts '%s'\n", ks_str_cstr(&pattern));
        return 2;
    }
    signal(SIGPROF, late);
    int n_seeds = 0, n_bad = argc > 4 ? run_seeds(argv[4], &n_seeds) : 0;
    for (long i = 0; i < n_runs && n_bad == 0; i++)
        n_bad += !mutate_and_run(found.gl_pathv[below(found.gl_pathc)]);
    globfree(&found);
    printf("%d texts that once ended badly and %ld mutated ones, %d bad\n", n_seeds, n_runs, n_bad);
    if (n_bad == 0)
        unlink("mutated.cu");
    return n_bad ? 1 : 0;
}
