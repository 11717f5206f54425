#include "driver/again.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/process.h"
#include "driver/again_line.h"
#include "driver/again_look.h"
#include "driver/certificate.h"
#include "driver/kept_object.h"
#include "driver/known.h"
#include "driver/object_cache.h"
#include "driver/policy.h"
#include "driver/say.h"
#include "driver/signed.h"
#include "driver/stats.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct ks_again {
    struct ks_look_line line;
    struct timespec started;
    struct ks_echo echo;
    struct ks_look look;
};

/* ---- lines that can be kept ----------------------------------------------------------------------------------------- */

/* A file that a rename may replace, or none. */
static bool is_plain_file(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 ? S_ISREG(st.st_mode) : true;
}

/* The dependency file's name: -MF, or the object's with another suffix.  False: there is one, of a name not known. */
static bool find_deps(const struct ks_again *a, const char **ret)
{
    const struct ks_cmdline *c = a->line.cmdline;
    bool wanted = false;
    for (size_t i = 0; i < c->items.n; i++)
        wanted |= ks_flag_is(c->items.data[i].flag, "generate-dependencies-with-compile") ||
                  ks_flag_is(c->items.data[i].flag, "generate-nonsystem-dependencies-with-compile");
    const char *named = ks_cmdline_value(c, "dependency-output");
    *ret = !wanted ? NULL : named;
    if (!wanted || named)
        return true;
    size_t len = strlen(a->line.object);
    if (!ks_str_ends(a->line.object, ".o"))
        return false;
    *ret = ks_arena_printf(c->arena, "%.*s.d", (int)(len - 2), a->line.object);
    return true;
}

/* ---- opening -------------------------------------------------------------------------------------------------------- */

/* The words of these variables are in the line already; nvcc, when it runs for the user, reads them itself. */
static void look_without_variables(struct ks_again *a)
{
    static const char *const names[] = {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"};
    char *values[2];
    for (size_t i = 0; i < 2; i++) {
        const char *value = getenv(names[i]);
        values[i] = value ? ks_xstrdup(value) : NULL;
        unsetenv(names[i]);
    }
    if (!ks_look_at(&a->line, &a->look))
        a->look.fingerprint[0] = '\0';
    for (size_t i = 0; i < 2; i++) {
        if (values[i])
            setenv(names[i], values[i], 1);
        free(values[i]);
    }
}

/* What we open must not take the number of a stream that the caller closed. */
static bool streams_are_open(void)
{
    return fcntl(STDIN_FILENO, F_GETFD) >= 0 && fcntl(STDOUT_FILENO, F_GETFD) >= 0 && fcntl(STDERR_FILENO, F_GETFD) >= 0;
}

struct ks_again *ks_again_open(const struct ks_cmdline *c, const struct ks_settings *s, const char *nvcc)
{
    struct ks_again *a = ks_xcalloc(1, sizeof(*a));
    a->line = (struct ks_look_line){.cmdline = c, .settings = s, .nvcc = nvcc};
    ks_look_init(&a->look);
    ks_echo_init(&a->echo);
    clock_gettime(CLOCK_REALTIME_COARSE, &a->started); /* the clock of files' times */
    if (!ks_again_line_is_plain(c) || s->fresh || s->kept_off || !streams_are_open())
        return a;
    a->line.object = ks_cmdline_object(c, 0);
    if (find_deps(a, &a->line.deps) && is_plain_file(a->line.object) && (!a->line.deps || is_plain_file(a->line.deps)))
        look_without_variables(a);
    return a;
}

void ks_again_free(struct ks_again *a)
{
    ks_look_release(&a->look);
    ks_echo_release(&a->echo);
    free(a);
}

/* ---- emitting ------------------------------------------------------------------------------------------------------- */

void ks_again_say(const char *object, const char *entry, const char *candidate_path)
{
    KS_AUTO_STR struct ks_str certificate = KS_STR_INIT, dir = KS_STR_INIT;
    if (candidate_path) {
        ks_path_dir(&dir, candidate_path);
        ks_path_join(&certificate, ks_str_cstr(&dir), KS_CERTIFICATE_FILE);
    }
    ks_say_result("emitted %s: original, candidate of %s and guard; certificate: %s", object, entry,
                  candidate_path ? ks_str_cstr(&certificate) : "not kept");
}

/* As nvcc would leave it: a new file, by the mask of this process. */
static bool put_in_place(const char *path, const struct ks_str *bytes)
{
    struct ks_err err;
    mode_t mask = umask(0);
    umask(mask);
    return ks_file_write_atomic(path, ks_str_cstr(bytes), bytes->len, 0666 & ~mask, &err) == KS_OK;
}

/* One that came with the store, when a person's approval covers it.  It was made without a word. */
static bool get_kept(const struct ks_look *l, struct ks_cached_object *ret)
{
    KS_AUTO_ARGS struct ks_args keys;
    struct ks_kept k;
    struct ks_err err;
    ks_args_init(&keys);
    for (size_t i = 0; i < l->n_peeks; i++) {
        if (l->peeks[i].store != l->peeks[0].store ||
            ks_approval_check(l->peeks[i].store, l->peeks[i].key, ks_look_signers(l), &err) != KS_OK)
            return false;
        ks_args_add(&keys, l->peeks[i].key);
    }
    if (!l->portable[0] || !l->n_peeks)
        return false;
    if (ks_kept_get(l->peeks[0].store, keys.v, keys.n, l->portable, ks_str_cstr(&l->root), &k, &err) != KS_OK) {
        if (err.code != KS_ERR_NOT_FOUND)
            ks_say_instead(&err, "compiling");
        return false;
    }
    *ret = (struct ks_cached_object){k.object, KS_STR_INIT, k.deps, k.has_deps};
    return true;
}

bool ks_again_emit(struct ks_again *a)
{
    struct ks_look *l = &a->look;
    struct ks_cached_object o;
    if (!l->key[0] || !((l->store.dir && ks_object_cache_get(&l->store, l->key, &o)) || get_kept(l, &o)))
        return false;
    bool done = o.has_deps == (a->line.deps != NULL) && (!a->line.deps || put_in_place(a->line.deps, &o.deps)) &&
                put_in_place(a->line.object, &o.object);
    if (done) {
        struct ks_entry_context x = {.unit = &l->unit};
        ks_echo_again(ks_str_cstr(&o.messages), o.messages.len);
        ks_stats_count(KS_STAT_UNITS);
        ks_stats_count(KS_STAT_EMITTED);
        for (size_t i = 0; i < l->n_peeks; i++) {
            ks_stats_count(KS_STAT_ENTRIES);
            ks_stats_count(KS_STAT_HITS);
            ks_known_say(&x, &l->peeks[i]);
        }
        for (size_t i = 0; i < l->n_peeks; i++) {
            KS_AUTO_STR struct ks_str candidate = KS_STR_INIT;
            ks_store_path(l->peeks[i].store, l->peeks[i].key, KS_CANDIDATE_FILE, &candidate);
            ks_again_say(a->line.object, l->contracts[i].entry, ks_str_cstr(&candidate));
        }
    }
    ks_cached_object_release(&o);
    return done;
}

/* ---- keeping -------------------------------------------------------------------------------------------------------- */

const char *ks_again_rule(const struct ks_again *a)
{
    return a->look.unit.rule;
}

struct ks_echo *ks_again_echo(struct ks_again *a)
{
    return a->look.fingerprint[0] && (a->echo.whole || ks_echo_open(&a->echo)) ? &a->echo : NULL;
}

static bool is_before(const struct timespec *t, const struct timespec *than)
{
    return t->tv_sec < than->tv_sec || (t->tv_sec == than->tv_sec && t->tv_nsec < than->tv_nsec);
}

/* The file, and the link to it. */
static bool is_older(const char *path, const struct timespec *than)
{
    struct stat st, link;
    return stat(path, &st) == 0 && lstat(path, &link) == 0 && is_before(&st.st_ctim, than) && is_before(&link.st_ctim, than);
}

/* What was changed during the build and changed back shows here, whatever times were set: those of the inodes.  NULL: nothing. */
static const char *first_younger(const struct ks_look *l, const struct timespec *than)
{
    for (size_t i = 0; i < l->read.n; i++)
        if (!is_older(l->read.v[i], than))
            return l->read.v[i];
    return NULL;
}

static bool read_results(const struct ks_again *a, const struct ks_emitted *emitted, struct ks_cached_object *o)
{
    struct ks_err err;
    char hex[65];
    if (ks_file_read(a->line.object, SIZE_MAX, &o->object, &err) != KS_OK)
        return false;
    ks_hash_hex(ks_str_cstr(&o->object), o->object.len, hex);
    o->has_deps = a->line.deps != NULL;
    ks_str_addn(&o->messages, ks_str_cstr(&a->echo.text), a->echo.text.len);
    return ks_streq(hex, emitted->object_hash) &&
           (!a->line.deps ||
            (!is_older(a->line.deps, &a->started) && ks_file_read(a->line.deps, KS_MAX_CAPTURE_BYTES, &o->deps, &err) == KS_OK));
}

/* For other machines too, when somebody is going to look at the certificates: what is approved already stays as it is.  What the
 * compiler said would be said in this machine's words. */
static void keep_for_others(const struct ks_look *l, const struct ks_cached_object *o)
{
    KS_AUTO_ARGS struct ks_args keys, words;
    KS_AUTO_FREE char *folder = getcwd(NULL, 0);
    struct ks_err err;
    bool approved = true;
    ks_args_init(&keys);
    ks_args_init(&words);
    for (size_t i = 0; i < l->n_peeks; i++) {
        if (l->peeks[i].store != &l->store)
            return;
        approved &= ks_store_is_approved(&l->store, l->peeks[i].key);
        ks_args_add(&keys, l->peeks[i].key);
    }
    if (approved || !l->portable[0] || o->messages.len || !folder)
        return;
    for (size_t i = 1; i + 2 < l->unit.build_argv.n; i++) /* all but nvcc's path and "-o OBJECT" */
        ks_args_add(&words, l->unit.build_argv.v[i]);
    struct ks_kept k = {o->object, o->deps, o->has_deps};
    const char *lines_root = l->unit.settings->lines_root;
    struct ks_kept_line line = {ks_str_cstr(&l->root), folder, lines_root ? lines_root : ks_str_cstr(&l->root), words.v};
    if (ks_kept_put(&l->store, keys.v, keys.n, l->portable, &k, &line, &err) != KS_OK)
        ks_say_progress("the object of %s is not kept for other machines: %s", l->unit.path, err.message);
}

/* "": the object is what `now` says that it is made of, and is in *o. */
static const char *why_not(const struct ks_again *a, const struct ks_emitted *emitted, struct ks_look *now,
                           struct ks_cached_object *o)
{
    const char *younger;
    if (!a->echo.whole || ks_say_said() || !emitted->object_hash[0])
        return "there was something to say about it";
    if (!ks_look_at(&a->line, now) || !now->fingerprint[0])
        return now->why ? now->why : "the store or the policy changed during the build";
    if (!ks_streq(now->fingerprint, a->look.fingerprint))
        return "a file, a variable or a program changed during the build";
    if (!now->key[0] || !ks_streq(ks_str_cstr(&now->ids), ks_str_cstr(&emitted->ids)))
        return "the store changed during the build";
    if ((younger = first_younger(now, &a->started)) || now->read.n == 0)
        return ks_arena_printf(&now->arena, "'%s' is younger than the build", younger ? younger : "");
    return read_results(a, emitted, o) ? "" : "it, or its dependency file, is not the one that was made";
}

void ks_again_keep(struct ks_again *a, const struct ks_emitted *emitted)
{
    struct ks_look now;
    struct ks_cached_object o = {KS_STR_INIT, KS_STR_INIT, KS_STR_INIT, false};
    struct ks_err err;
    ks_look_init(&now);
    const char *why = a->look.fingerprint[0] ? why_not(a, emitted, &now, &o) : a->look.why;
    if (why && why[0]) {
        ks_say_progress("the object of %s is not kept: %s", a->look.unit.path, why);
    } else if (why) {
        if (ks_object_cache_put(&now.store, now.key, &o, &err) != KS_OK)
            ks_say_progress("the object of %s is not kept for the next build: %s", now.unit.path, err.message);
        keep_for_others(&now, &o);
    }
    ks_cached_object_release(&o);
    ks_look_release(&now);
}
