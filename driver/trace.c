#include "driver/trace.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/redact.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct ks_trace {
    char *unit, *trace_path, *wall_path;
    FILE *trace, *wall, *copy; /* copy: NULL when none */
    struct ks_hash hash;
    int64_t n;
    int64_t start_ns;
    bool failed;
};

static FILE *open_part(const char *path, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str part = KS_STR_INIT;
    ks_str_addf(&part, "%s.part", path);
    FILE *f = fopen(ks_str_cstr(&part), "we");
    if (!f)
        ks_fail_errno(err, KS_ERR_IO, "cannot create '%s'", ks_str_cstr(&part));
    return f;
}

static void trace_free(struct ks_trace *t)
{
    FILE *const files[] = {t->trace, t->wall, t->copy};
    for (int i = 0; i < 3; i++)
        if (files[i])
            fclose(files[i]);
    free(t->unit);
    free(t->trace_path);
    free(t->wall_path);
    free(t);
}

enum ks_code ks_trace_open(const char *trace_path, const char *wall_path, const char *copy_path, const char *unit,
                           struct ks_trace **ret, struct ks_err *err)
{
    struct ks_trace *t = ks_xcalloc(1, sizeof(*t));
    t->unit = ks_xstrdup(unit);
    t->trace_path = ks_xstrdup(trace_path);
    t->wall_path = ks_xstrdup(wall_path);
    t->start_ns = ks_clock_ns();
    ks_hash_init(&t->hash);
    t->trace = open_part(trace_path, err);
    t->wall = t->trace ? open_part(wall_path, err) : NULL;
    bool ok = t->trace && t->wall;
    if (ok && copy_path && !(t->copy = fopen(copy_path, "we"))) {
        ks_fail_errno(err, KS_ERR_IO, "cannot create the trace file '%s'", copy_path);
        ok = false;
    }
    if (!ok) {
        trace_free(t);
        return KS_ERR_IO;
    }
    *ret = t;
    return KS_OK;
}

static void put(struct ks_trace *t, FILE *f, const struct ks_str *line)
{
    if (f && (fwrite(line->data, 1, line->len, f) != line->len || fflush(f) != 0))
        t->failed = true;
}

void ks_trace_event(struct ks_trace *t, const char *ev, struct ks_json *fields)
{
    KS_AUTO_JSON struct ks_json *given = fields, *clean = fields ? ks_redact_json(fields) : NULL, *j = ks_json_object();
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    ks_json_set_str(j, "ev", ev);
    ks_json_set_str(j, "unit", t->unit);
    ks_json_set_i64(j, "n", ++t->n);
    ks_json_make_utf8(j);
    for (size_t i = 0; i < ks_json_len(clean); i++) {
        struct ks_json *member = ks_json_at(clean, i);
        if (strcmp(ks_json_key(member), "diff") != 0) /* whose bytes are the source's: it is applied again */
            ks_json_make_utf8(member);
        ks_json_set(j, ks_json_key(member), ks_json_copy(member));
    }
    ks_json_print(j, &line);
    ks_str_addc(&line, '\n');
    ks_hash_update(&t->hash, line.data, line.len);
    put(t, t->trace, &line);
    put(t, t->copy, &line);
}

void ks_trace_wall(struct ks_trace *t, struct ks_json *fields)
{
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *given = fields, *clean = ks_redact_json(fields);
    ks_json_set_i64(clean, "n", t->n);
    ks_json_set_i64(clean, "t_ns", ks_clock_ns() - t->start_ns);
    ks_json_print(clean, &line);
    ks_str_addc(&line, '\n');
    put(t, t->wall, &line);
}

static bool finish(FILE *f, const char *path)
{
    KS_AUTO_STR struct ks_str part = KS_STR_INIT;
    ks_str_addf(&part, "%s.part", path);
    return fflush(f) == 0 && fsync(fileno(f)) == 0 && rename(ks_str_cstr(&part), path) == 0;
}

enum ks_code ks_trace_close(struct ks_trace *t, char ret_hex[65], struct ks_err *err)
{
    bool ok = finish(t->trace, t->trace_path) && finish(t->wall, t->wall_path) && !t->failed;
    enum ks_code code = ok ? KS_OK : ks_fail_errno(err, KS_ERR_IO, "cannot write the trace '%s'", t->trace_path);
    if (ok)
        ks_hash_final_hex(&t->hash, ret_hex);
    trace_free(t);
    return code;
}

void ks_trace_abandon(struct ks_trace *t)
{
    trace_free(t);
}

/* ---- what may differ between equal runs ------------------------------------------------------------------------------ */

static const char *const wall_names[] = {"wall",          "wall_ns", "build_ns", "object_hash",
                                         "object_sha256", "wall_ms", "build_ms", "cpu_ns"};

static bool is_wall_name(const char *name)
{
    for (size_t i = 0; name && i < sizeof(wall_names) / sizeof(wall_names[0]); i++)
        if (strcmp(name, wall_names[i]) == 0)
            return true;
    return false;
}

/* Length of a name that differs in every run at p, 0: none: a scratch folder ("/tmp/kscc-work.4fZk2q/" as a whole), nvcc's
 * temporary files. */
static size_t scratch_name(const char *p)
{
    size_t len = strcspn(p, " \t\n\"':,;()[]");
    const char *work = memmem(p, len, "/kscc-work.", strlen("/kscc-work."));
    if (*p == '/' && work) {
        const char *end = memchr(work + 1, '/', len - (size_t)(work + 1 - p));
        return end ? (size_t)(end + 1 - p) : len;
    }
    return ks_str_starts(p, "tmpxft_") ? strlen("tmpxft_") + strspn(p + strlen("tmpxft_"), "0123456789abcdef_") : 0;
}

void ks_text_repeatable(const char *text, struct ks_str *out)
{
    while (*text) {
        size_t skipped = scratch_name(text);
        if (skipped)
            text += skipped;
        else
            ks_str_addc(out, *text++);
    }
}

/* ptxas says how long it took; the rest of its text is the same in every run. */
static void add_without_times(const char *text, struct ks_str *out)
{
    while (*text) {
        size_t len = strcspn(text, "\n"), with_newline = len + (text[len] == '\n');
        if (!memmem(text, len, "Compile time", strlen("Compile time")))
            ks_str_addn(out, text, with_newline);
        text += with_newline;
    }
}

static struct ks_json *repeatable_string(const char *name, const char *text)
{
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    if (name && strcmp(name, "ptxas") == 0)
        add_without_times(text, &out);
    else if (name && strcmp(name, "file") == 0) /* where a checkout lies is no part of the unit */
        ks_str_add(&out, ks_path_base(text));
    else
        ks_text_repeatable(text, &out);
    return ks_json_string(ks_str_cstr(&out));
}

struct ks_json *ks_json_repeatable(const struct ks_json *j)
{
    if (ks_json_is_string(j))
        return repeatable_string(ks_json_key(j), ks_json_str(j));
    if (!ks_json_is_object(j) && !ks_json_is_array(j))
        return ks_json_copy(j);
    bool object = ks_json_is_object(j);
    struct ks_json *out = object ? ks_json_object() : ks_json_array();
    for (size_t i = 0; i < ks_json_len(j); i++) {
        const struct ks_json *member = ks_json_at(j, i);
        if (!object)
            ks_json_push(out, ks_json_repeatable(member));
        else if (!is_wall_name(ks_json_key(member)))
            ks_json_set(out, ks_json_key(member), ks_json_repeatable(member));
    }
    return out;
}

static void collect_wall(const struct ks_json *j, struct ks_json *out)
{
    for (size_t i = 0; i < ks_json_len(j); i++) {
        const struct ks_json *member = ks_json_at(j, i);
        if (is_wall_name(ks_json_key(member)))
            ks_json_set(out, ks_json_key(member), ks_json_copy(member));
        else
            collect_wall(member, out);
    }
}

struct ks_json *ks_json_wall_part(const struct ks_json *j)
{
    struct ks_json *out = ks_json_object();
    collect_wall(j, out);
    return out;
}
