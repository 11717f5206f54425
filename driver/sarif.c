#include "driver/sarif.h"

#include <ctype.h>
#include <string.h>

#define SCHEMA "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

struct text {
    const char *path, *source;
    size_t len;
};

/* ---- places --------------------------------------------------------------------------------------------------------- */

/* A path as URI reference: what RFC 3986 does not allow in one is percent-encoded. */
static void add_uri(const char *path, struct ks_str *out)
{
    if (path[0] == '/')
        ks_str_add(out, "file://");
    else if (strchr(path, ':')) /* "a:b" would be read as a scheme */
        ks_str_add(out, "./");
    for (; *path; path++)
        if (isalnum((unsigned char)*path) || strchr("/-._~:@!$&'()*+,;=", *path))
            ks_str_addc(out, *path);
        else
            ks_str_addf(out, "%%%02X", (unsigned char)*path);
}

static const char *line_begin(const struct text *t, uint32_t line)
{
    const char *p = t->source, *end = t->source + t->len;
    while (p && --line && (p = memchr(p, '\n', (size_t)(end - p))))
        p++;
    return p;
}

/* The column in code points of byte column `col`, both from 1. */
static int64_t column(const struct text *t, uint32_t line, uint32_t col)
{
    const char *begin = line_begin(t, line), *end = t->source + t->len;
    int64_t n = 1;
    for (const char *p = begin; p && p < end && p < begin + col - 1; p++)
        n += ((unsigned char)*p & 0xc0) != 0x80;
    return n;
}

static struct ks_json *location(const struct ks_diag *d, const struct text *t)
{
    struct ks_json *location = ks_json_object(), *physical = ks_json_object(), *artifact = ks_json_object();
    KS_AUTO_STR struct ks_str uri = KS_STR_INIT;
    add_uri(d->file, &uri);
    ks_json_set_str(artifact, "uri", ks_str_cstr(&uri));
    ks_json_set(physical, "artifactLocation", artifact);
    if (d->line) {
        struct ks_json *region = ks_json_object();
        ks_json_set_i64(region, "startLine", d->line);
        if (d->col && strcmp(d->file, t->path) == 0) {
            ks_json_set_i64(region, "startColumn", column(t, d->line, d->col));
            ks_json_set_i64(region, "endColumn", column(t, d->line, d->col + (d->len ? d->len : 1)));
        }
        ks_json_set(physical, "region", region);
    }
    ks_json_set(location, "physicalLocation", physical);
    return location;
}

static void set_message(struct ks_json *to, const char *text)
{
    struct ks_json *message = ks_json_object();
    ks_json_set_str(message, "text", text);
    ks_json_set(to, "message", message);
}

/* ---- results -------------------------------------------------------------------------------------------------------- */

static const char *level(enum ks_severity severity)
{
    switch (severity) {
    case KS_SEV_NOTE:
    case KS_SEV_REMARK:
        return "note";
    case KS_SEV_WARNING:
        return "warning";
    case KS_SEV_ERROR:
        return "error";
    }
    return "none";
}

/* Index of the rule, which is added when it is not there yet. */
static int64_t rule_index(struct ks_json *rules, const char *id)
{
    for (size_t i = 0; i < ks_json_len(rules); i++)
        if (ks_streq(ks_json_get_str(ks_json_at(rules, i), "id", ""), id))
            return (int64_t)i;
    struct ks_json *rule = ks_json_object();
    ks_json_set_str(rule, "id", id);
    ks_json_push(rules, rule);
    return (int64_t)ks_json_len(rules) - 1;
}

static struct ks_json *result(const struct ks_diag *d, const struct text *t, struct ks_json *rules)
{
    struct ks_json *result = ks_json_object();
    KS_AUTO_STR struct ks_str id = KS_STR_INIT;
    ks_str_addf(&id, "kscc-%s", d->id ? d->id : "general");
    ks_json_set_str(result, "ruleId", ks_str_cstr(&id));
    ks_json_set_i64(result, "ruleIndex", rule_index(rules, ks_str_cstr(&id)));
    ks_json_set_str(result, "level", level(d->severity));
    set_message(result, d->message);
    struct ks_json *locations = ks_json_array();
    if (d->file)
        ks_json_push(locations, location(d, t));
    ks_json_set(result, "locations", locations);
    return result;
}

static void relate(struct ks_json *result, const struct ks_diag *note, const struct text *t)
{
    struct ks_json *related = ks_json_get(result, "relatedLocations");
    if (!note->file)
        return;
    if (!related) {
        related = ks_json_array();
        ks_json_set(result, "relatedLocations", related);
    }
    struct ks_json *place = location(note, t);
    ks_json_set_i64(place, "id", (int64_t)ks_json_len(related) + 1);
    set_message(place, note->message);
    ks_json_push(related, place);
}

struct ks_json *ks_sarif(const struct ks_diags *d, const char *path, const char *source, size_t source_len)
{
    const struct text t = {path, source, source_len};
    struct ks_json *log = ks_json_object(), *runs = ks_json_array(), *run = ks_json_object(), *tool = ks_json_object();
    struct ks_json *driver = ks_json_object(), *rules = ks_json_array(), *results = ks_json_array(), *last = NULL;
    for (size_t i = 0; i < d->n; i++) {
        if (d->data[i].severity == KS_SEV_NOTE && last) {
            relate(last, &d->data[i], &t);
        } else {
            last = result(&d->data[i], &t, rules);
            ks_json_push(results, last);
        }
    }
    ks_json_set_str(driver, "name", "kscc");
    ks_json_set_str(driver, "version", KSCC_VERSION);
    ks_json_set(driver, "rules", rules);
    ks_json_set(tool, "driver", driver);
    ks_json_set(run, "tool", tool);
    ks_json_set_str(run, "columnKind", "unicodeCodePoints");
    ks_json_set(run, "results", results);
    ks_json_push(runs, run);
    ks_json_set_str(log, "$schema", SCHEMA);
    ks_json_set_str(log, "version", "2.1.0");
    ks_json_set(log, "runs", runs);
    return log;
}
