#include "driver/host.h"

#include "base/file.h"
#include "base/limits.h"
#include "driver/host_compiler.h"
#include "driver/nvcc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_RESPONSE_DEPTH 8

/* What a line says when gcc reads it. */
struct reading {
    struct ks_arena *arena;
    bool nvcc;         /* something only nvcc understands */
    bool c, cxx, asm_; /* inputs of these languages */
    bool objects, cxx_objects;
    bool words;
    bool links;             /* no option that stops before the link */
    const char *language;   /* of -x, NULL or "none": by suffix */
    struct ks_args folders; /* -L */
    struct ks_args libraries;
};

/* ---- options -------------------------------------------------------------------------------------------------------- */

static bool takes_next(const char *word)
{
    static const char *const names[] = {
#define X(name) name,
#include "driver/host_flags.def"
#undef X
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], word) == 0)
            return true;
    return false;
}

/* "-Werror all-warnings": nvcc's, where gcc's -Werror takes no word. */
static bool is_nvccs_werror(const char *word, const char *next)
{
    static const char *const kinds[] = {"all-warnings",           "cross-execution-space-call", "reorder",
                                        "default-stream-launch",  "missing-launch-bounds",      "ext-lambda-captures-this",
                                        "deprecated-declarations"};
    if (strcmp(word, "-Werror") != 0 || !next)
        return false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (ks_str_starts(next, kinds[i]))
            return true;
    return false;
}

/* "-Xlinker -rpath,/x": nvcc takes lists there, gcc one word. */
static bool is_nvccs_xlinker(const char *word, const char *next)
{
    return strcmp(word, "-Xlinker") == 0 && next && strchr(next, ',');
}

/* An option of nvcc's that gcc does not read the same way; a glued one-letter option is gcc's as well. */
static bool is_only_nvccs(const char *word, const char *next)
{
    const char *value = NULL;
    const struct ks_flag *f = ks_flag_match(word, &value);
    if (!f)
        return false;
    size_t len = strcspn(word, "=");
    bool is_long = word[1] == '-', same = !is_long || strcmp(f->long_name, f->short_name) == 0;
    bool glued = !is_long && strlen(f->short_name) == 1 && len > 2;
    return !(f->bits & KS_FLAG_HOST) || !same ||
           (value && !glued && !ks_str_starts(word, "-std=") && !ks_str_starts(word, "--std=") &&
            !ks_str_starts(f->short_name, "f")) ||
           is_nvccs_werror(word, next) || is_nvccs_xlinker(word, next);
}

static bool stops_before_link(const char *word)
{
    static const char *const names[] = {"-c", "-S", "-E", "-M", "-MM"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], word) == 0)
            return true;
    return false;
}

/* ---- inputs --------------------------------------------------------------------------------------------------------- */

static bool has_suffix(const char *path, const char *const *suffixes)
{
    const char *dot = strrchr(ks_path_base(path), '.');
    for (size_t i = 0; dot && suffixes[i]; i++)
        if (strcmp(dot, suffixes[i]) == 0)
            return true;
    return false;
}

/* Whether any of the texts occurs in the file: the name of a section or symbol does wherever there is one. */
static bool file_mentions(const char *path, const char *const *texts, const size_t *lens, size_t n)
{
    KS_AUTO_STR struct ks_str data = KS_STR_INIT;
    struct ks_err err;
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || ks_file_read(path, SIZE_MAX, &data, &err) != KS_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        if (memmem(data.data, data.len, texts[i], lens[i]))
            return true;
    return false;
}

/* An object or archive: device code is nvcc's to link, C++ names want g++. */
static void read_object(struct reading *r, const char *path)
{
    static const char *const device[] = {".nv_fatbin", "__nv_relfatbin", ".nvFatBinSegment"};
    static const char *const cxx[] = {"\0_Z", "\0__gxx_personality"};
    r->objects = true;
    r->nvcc |= file_mentions(path, device, (const size_t[]){10, 14, 16}, 3);
    r->cxx_objects = r->cxx_objects || file_mentions(path, cxx, (const size_t[]){3, 18}, 2);
}

static void read_input(struct reading *r, const char *path)
{
    static const char *const c[] = {".c", ".i", NULL}, *const assembler[] = {".s", ".S", ".sx", NULL},
                             *const cxx[] = {".cc", ".cp", ".cxx", ".cpp", ".CPP", ".c++", ".C", ".ii", NULL},
                             *const device[] = {".cu", ".ptx", ".cubin", ".fatbin", ".ltoir", ".optixir", NULL},
                             *const objects[] = {".o", ".lo", ".obj", ".a", ".so", NULL};
    if (r->language) {
        r->nvcc |= strcmp(r->language, "cu") == 0;
        r->cxx |= ks_str_starts(r->language, "c++");
        r->c |= !ks_str_starts(r->language, "c++");
    } else if (has_suffix(path, device)) {
        r->nvcc = true;
    } else if (has_suffix(path, c) || strcmp(path, "-") == 0) {
        r->c = true;
    } else if (has_suffix(path, cxx)) {
        r->cxx = true;
    } else if (has_suffix(path, assembler)) {
        r->asm_ = true;
    } else if (has_suffix(path, objects) || ks_file_exists(path)) {
        read_object(r, path);
    } else {
        r->nvcc = true;
    }
}

/* -lNAME: its archive, where no shared library comes first; -l:FILE: that file, where it is an archive. */
static void read_libraries(struct reading *r)
{
    for (size_t i = 0; i < r->libraries.n; i++)
        for (size_t k = 0; k < r->folders.n; k++) {
            const char *dir = r->folders.v[k], *name = r->libraries.v[i];
            bool is_file = name[0] == ':';
            KS_AUTO_STR struct ks_str path = KS_STR_INIT;
            ks_str_addf(&path, "%s/lib%s.so", dir, name);
            if (is_file ? !ks_str_ends(name, ".a") : ks_file_exists(ks_str_cstr(&path)))
                break;
            ks_str_clear(&path);
            if (is_file)
                ks_str_addf(&path, "%s/%s", dir, name + 1);
            else
                ks_str_addf(&path, "%s/lib%s.a", dir, name);
            if (!ks_file_exists(ks_str_cstr(&path)))
                continue;
            read_object(r, ks_str_cstr(&path));
            break;
        }
}

/* ---- the walk ------------------------------------------------------------------------------------------------------- */

static void read_words(struct reading *r, char *const *words, const bool *ours, int depth);

/* "@FILE": its words, split as nvcc splits options files, which for the names of objects is as gcc does. */
static bool read_response(struct reading *r, const char *word, int depth)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_AUTO_ARGS struct ks_args args;
    struct ks_words split = {0};
    struct ks_err err;
    struct stat st;
    ks_args_init(&args);
    if (word[0] != '@' || depth > MAX_RESPONSE_DEPTH || stat(word + 1, &st) < 0 || !S_ISREG(st.st_mode) ||
        ks_file_read(word + 1, KS_MAX_ARGV_BYTES, &text, &err) != KS_OK)
        return false;
    bool whole = ks_words_split_file(ks_str_cstr(&text), text.len, KS_WORD_ARGV, KS_NO_WORD, r->arena, &split);
    (void)whole; /* a quote left open: gcc's to judge, the words before it count */
    for (size_t i = 0; i < split.n; i++)
        ks_args_add(&args, split.data[i].text);
    ks_words_release(&split);
    if (args.n)
        read_words(r, args.v, NULL, depth + 1);
    return true;
}

static void read_value(struct reading *r, const char *option, const char *value)
{
    if (strcmp(option, "-x") == 0)
        r->language = strcmp(value, "none") == 0 ? NULL : value;
    else if (strcmp(option, "-L") == 0)
        ks_args_add(&r->folders, value);
    else if (strcmp(option, "-l") == 0)
        ks_args_add(&r->libraries, value);
}

static void read_words(struct reading *r, char *const *words, const bool *ours, int depth)
{
    for (size_t i = 0; words[i]; i++) {
        const char *word = words[i], *next = words[i + 1];
        if (ours && ours[i])
            continue;
        r->words = true;
        if (word[0] == '-' && word[1]) {
            r->nvcc |= is_only_nvccs(word, next);
            r->links &= !stops_before_link(word);
            if (strchr("Llx", word[1]) && word[2])
                read_value(r, (const char[]){'-', word[1], '\0'}, word + 2);
            else if (takes_next(word) && next)
                read_value(r, word, words[++i]);
        } else if (!read_response(r, word, depth)) {
            read_input(r, word);
        }
    }
}

/* ---- the decision --------------------------------------------------------------------------------------------------- */

static bool is_host_line(const struct reading *r)
{
    bool inputs = r->c || r->cxx || r->asm_ || r->objects;
    return !r->nvcc && (inputs || r->words);
}

bool ks_host_takes(const struct ks_call *call, struct ks_args *out, enum ks_code *ret_code, struct ks_err *err)
{
    struct ks_arena arena;
    *ret_code = KS_OK;
    if (call->settings.host != KS_HOST_PASSTHROUGH)
        return false;
    ks_arena_init(&arena);
    struct reading r = {.arena = &arena, .links = true};
    ks_args_init(&r.folders);
    ks_args_init(&r.libraries);
    size_t n = 0;
    while (call->argv[0] && call->argv[n + 1])
        n++;
    KS_AUTO_FREE bool *ours = ks_xcalloc(n + 1, sizeof(bool));
    ks_call_mark_ours(call, ours);
    if (n)
        read_words(&r, call->argv + 1, ours, 0);
    if (!r.nvcc && r.links)
        read_libraries(&r);
    bool takes = is_host_line(&r);
    bool cxx = r.cxx ? !r.c : !r.c && r.cxx_objects;
    KS_AUTO_FREE char *path = takes ? ks_host_compiler_choose(NULL, cxx) : NULL;
    if (takes && !path)
        *ret_code = ks_fail(err, KS_ERR_NOT_FOUND, "cannot find '%s'", cxx ? "g++" : "gcc");
    if (takes && path) {
        ks_args_add(out, path);
        for (size_t i = 0; i < n; i++)
            if (!ours[i])
                ks_args_add(out, call->argv[i + 1]);
        if (r.links && !cxx && (r.cxx || r.cxx_objects)) /* C beside C++ */
            ks_args_add(out, "-lstdc++");
    }
    ks_args_release(&r.folders);
    ks_args_release(&r.libraries);
    ks_arena_release(&arena);
    return takes;
}
