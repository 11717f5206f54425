#include "driver/cmdline.h"

#include "base/file.h"
#include "base/limits.h"

#include <string.h>
#include <sys/stat.h>

bool ks_word_is_ours(const char *text)
{
    return strcmp(text, "-O-agent") == 0 || strcmp(text, "-###") == 0 || ks_str_starts(text, "-O-agent=") ||
           ks_str_starts(text, "--kscc-");
}

static void not_understood(struct ks_cmdline *c, const char *why, const char *what)
{
    if (!c->not_understood)
        c->not_understood = ks_arena_printf(c->arena, "%s '%s'", why, what);
}

/* ---- options files -------------------------------------------------------------------------------------------------- */

static size_t depth_of(const struct ks_cmdline *c, size_t word)
{
    size_t depth = 0;
    for (; word != KS_NO_WORD; word = c->words.data[word].file_option)
        depth++;
    return depth;
}

static bool is_regular(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Reads the files of an --options-file and inserts their words after its value: of all of them or of none, because nvcc gets
 * either the files or the words.  Word indices recorded so far stay valid, because only later words move. */
static void insert_files(struct ks_cmdline *c, size_t option, size_t value_word, const char *value)
{
    if (depth_of(c, option) > KS_MAX_OPTFILE_DEPTH) {
        not_understood(c, "options files nested too deeply in", value);
        return;
    }
    const char **paths;
    size_t n = ks_list_split(value, c->arena, &paths);
    struct ks_words more = {0};
    for (size_t i = 0; i < n; i++) {
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        struct ks_err err;
        /* a pipe can be read once, and nvcc is the one to read it */
        if (!is_regular(paths[i]) || ks_file_read(paths[i], KS_MAX_ARGV_BYTES, &text, &err) != KS_OK)
            not_understood(c, "unreadable options file", paths[i]);
        else if (!ks_words_split_file(ks_str_cstr(&text), text.len, c->words.data[option].source, option, c->arena, &more))
            not_understood(c, "unfinished quoting in options file", paths[i]);
        else
            continue;
        ks_words_release(&more);
        return;
    }
    ks_words_insert(&c->words, value_word, &more);
    ks_words_release(&more);
}

/* A switch of ours inside an options file: nvcc must get the words of that file instead of the file. */
static void mark_ours(struct ks_cmdline *c, size_t word)
{
    c->has_ours = true;
    c->words.data[word].ours = true;
    for (size_t f = c->words.data[word].file_option; f != KS_NO_WORD; f = c->words.data[f].file_option)
        c->words.data[f].opened = true;
}

/* ---- the walk over the words ---------------------------------------------------------------------------------------- */

/* Handles the option at word i; returns the index of its last word. */
static size_t take_option(struct ks_cmdline *c, size_t i, const struct ks_flag *flag, const char *glued)
{
    struct ks_item item = {.flag = flag, .word = i, .value_word = KS_NO_WORD};
    size_t last = i;
    const char *next = i + 1 < c->words.n ? c->words.data[i + 1].text : NULL;
    bool eats = !glued && ks_flag_eats_next(flag, next);
    if (eats && !next) {
        not_understood(c, "missing value of", c->words.data[i].text);
        return i;
    }
    if (glued || eats) {
        last = eats ? i + 1 : i;
        item.value_word = last;
        item.value = glued ? glued : next;
    }
    ks_vec_push(&c->items, item);
    if (flag->bits & KS_FLAG_FORWARD)
        c->forwards_unknown = true;
    if (flag->bits & KS_FLAG_FILES)
        insert_files(c, item.word, item.value_word, item.value);
    return last;
}

static enum ks_lang lang_of_path(const char *path)
{
    static const struct {
        const char *suffix;
        enum ks_lang lang;
    } by_suffix[] = {{".cu", KS_LANG_CUDA}, {".c", KS_LANG_C},     {".i", KS_LANG_C},   {".cc", KS_LANG_CXX},
                     {".cpp", KS_LANG_CXX}, {".cxx", KS_LANG_CXX}, {".ii", KS_LANG_CXX}};
    for (size_t i = 0; i < sizeof(by_suffix) / sizeof(by_suffix[0]); i++)
        if (ks_str_ends(path, by_suffix[i].suffix))
            return by_suffix[i].lang;
    return KS_LANG_OTHER;
}

/* -x names the language of all inputs, wherever it stands. */
static void apply_language(struct ks_cmdline *c)
{
    const char *x = ks_cmdline_value(c, "x");
    for (size_t i = 0; x && i < c->inputs.n; i++)
        c->inputs.data[i].lang = ks_streq(x, "cu")    ? KS_LANG_CUDA
                                 : ks_streq(x, "c")   ? KS_LANG_C
                                 : ks_streq(x, "c++") ? KS_LANG_CXX
                                                      : KS_LANG_OTHER;
}

void ks_cmdline_parse(char *const *argv, const char *prepend, const char *append, struct ks_arena *arena, struct ks_cmdline *ret)
{
    struct ks_cmdline c = {.arena = arena, .argv = argv, .prepend = prepend, .append = append};
    if (prepend)
        ks_words_split_env(prepend, KS_WORD_PREPEND, arena, &c.words);
    for (size_t i = 1; argv[0] && argv[i]; i++) {
        struct ks_word w = {.text = argv[i], .source = KS_WORD_ARGV, .file_option = KS_NO_WORD};
        ks_vec_push(&c.words, w);
    }
    if (append)
        ks_words_split_env(append, KS_WORD_APPEND, arena, &c.words);
    const char *unknown = NULL;
    for (size_t i = 0; i < c.words.n; i++) {
        const char *text = c.words.data[i].text, *glued = NULL;
        const struct ks_flag *flag;
        if (ks_word_is_ours(text)) {
            mark_ours(&c, i); /* also "-###", which forwarding would hand to gcc: there it would run nothing either */
        } else if ((flag = ks_flag_match(text, &glued))) {
            i = take_option(&c, i, flag, glued);
        } else if (text[0] == '-' && text[1]) {
            unknown = unknown ? unknown : text;
        } else {
            struct ks_input in = {text, i, lang_of_path(text)};
            ks_vec_push(&c.inputs, in);
        }
    }
    if (unknown && !c.forwards_unknown)
        not_understood(&c, "unknown option", unknown);
    apply_language(&c);
    *ret = c;
}

void ks_cmdline_release(struct ks_cmdline *c)
{
    ks_words_release(&c->words);
    ks_vec_release(&c->items);
    ks_vec_release(&c->inputs);
}

const struct ks_item *ks_cmdline_find(const struct ks_cmdline *c, const char *long_name)
{
    for (size_t i = c->items.n; i-- > 0;)
        if (ks_flag_is(c->items.data[i].flag, long_name))
            return &c->items.data[i];
    return NULL;
}

const char *ks_cmdline_value(const struct ks_cmdline *c, const char *long_name)
{
    const struct ks_item *item = ks_cmdline_find(c, long_name);
    return item ? item->value : NULL;
}

/* ---- lines made from it --------------------------------------------------------------------------------------------- */

/* Whether nvcc gets this word as it stands: not ours, and not hidden in an options file that nvcc reads itself. */
static bool word_is_passed(const struct ks_cmdline *c, size_t i)
{
    const struct ks_word *w = &c->words.data[i];
    if (w->ours)
        return false;
    for (size_t f = w->file_option; f != KS_NO_WORD; f = c->words.data[f].file_option)
        if (!c->words.data[f].opened)
            return false;
    return true;
}

static void mark_option_words(const struct ks_cmdline *c, size_t option, bool *skip)
{
    for (size_t i = 0; i < c->items.n; i++)
        if (c->items.data[i].word == option) {
            skip[option] = true;
            if (c->items.data[i].value_word != KS_NO_WORD)
                skip[c->items.data[i].value_word] = true;
        }
}

/* A variable that names an options file with a switch of ours is given up: its grammar cannot say every word of a file. */
static bool variable_is_opened(const struct ks_cmdline *c, enum ks_word_source source)
{
    for (size_t i = 0; i < c->words.n; i++)
        if (c->words.data[i].source == source && c->words.data[i].opened)
            return true;
    return false;
}

static void add_env_word(const struct ks_word *w, struct ks_str *out)
{
    if (out->len)
        ks_str_addc(out, ' ');
    ks_str_add(out, w->text);
}

void ks_cmdline_nvcc_argv(const struct ks_cmdline *c, const char *nvcc, struct ks_args *out, struct ks_str *prepend,
                          struct ks_str *append, bool *ret_env_changed)
{
    KS_AUTO_FREE bool *skip = ks_xcalloc(c->words.n + 1, sizeof(bool));
    for (size_t i = 0; i < c->words.n; i++)
        if (c->words.data[i].opened)
            mark_option_words(c, i, skip);
    const bool opened[] = {[KS_WORD_PREPEND] = variable_is_opened(c, KS_WORD_PREPEND),
                           [KS_WORD_ARGV] = true,
                           [KS_WORD_APPEND] = variable_is_opened(c, KS_WORD_APPEND)};
    bool changed = false;
    ks_args_add(out, nvcc);
    for (size_t i = 0; i < c->words.n; i++) {
        const struct ks_word *w = &c->words.data[i];
        if (w->source != KS_WORD_ARGV && (w->ours || skip[i]))
            changed = true;
        if (skip[i] || !word_is_passed(c, i))
            continue;
        if (opened[w->source])
            ks_args_add(out, w->text);
        else if (w->file_option == KS_NO_WORD)
            add_env_word(w, w->source == KS_WORD_PREPEND ? prepend : append);
    }
    *ret_env_changed = changed;
}

void ks_cmdline_build_argv(const struct ks_cmdline *c, const char *nvcc, size_t input, const char *input_path, const char *arch,
                           const char *output, struct ks_args *out, size_t *ret_input_index)
{
    const unsigned left_out =
        KS_FLAG_OUTPUT | KS_FLAG_DEPS | KS_FLAG_PHASE | KS_FLAG_NOISE | KS_FLAG_FILES | (arch ? KS_FLAG_ARCH : 0);
    KS_AUTO_FREE bool *skip = ks_xcalloc(c->words.n + 1, sizeof(bool));
    for (size_t i = 0; i < c->items.n; i++) {
        const struct ks_item *item = &c->items.data[i];
        if (!(item->flag->bits & left_out))
            continue;
        skip[item->word] = true;
        if (item->value_word != KS_NO_WORD)
            skip[item->value_word] = true;
    }
    for (size_t i = 0; i < c->inputs.n; i++)
        skip[c->inputs.data[i].word] = true;
    ks_args_add(out, nvcc);
    for (size_t i = 0; i < c->words.n; i++)
        if (!skip[i] && !c->words.data[i].ours)
            ks_args_add(out, c->words.data[i].text);
    if (arch) {
        const char *number = ks_str_starts(arch, "sm_") ? arch + 3 : arch;
        ks_args_addf(out, "--generate-code=arch=compute_%s,code=[sm_%s,compute_%s]", number, number, number);
    }
    if (ks_cmdline_find(c, "device-c")) /* a phase that is a way of compiling as well */
        ks_args_add(out, "-rdc=true");
    ks_args_add(out, "-c");
    *ret_input_index = out->n;
    ks_args_add(out, input_path ? input_path : c->inputs.data[input].path);
    ks_args_add(out, "-o");
    ks_args_add(out, output);
}

const char *ks_cmdline_object(const struct ks_cmdline *c, size_t input)
{
    const char *o = ks_cmdline_value(c, "output-file");
    if (o)
        return o;
    const char *base = ks_path_base(c->inputs.data[input].path);
    const char *dot = strrchr(base, '.');
    const char *dir = ks_cmdline_value(c, "output-directory");
    return ks_arena_printf(c->arena, "%s%s%.*s.o", dir ? dir : "", dir ? "/" : "",
                           (int)(dot ? dot - base : (ptrdiff_t)strlen(base)), base);
}
