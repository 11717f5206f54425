/* What an MCP client may read: the unit's original and best text, the trace, the question bank. */

#include "driver/mcp.h"

#include "base/file.h"
#include "base/limits.h"

#include <dirent.h>
#include <string.h>

#define ORIGINAL "kscc://source/original"
#define BEST     "kscc://source/best"
#define TRACE    "kscc://trace"
#define BANK     "kscc://bank/"

static void add(struct ks_json *all, const char *uri, const char *name, const char *mime, const char *description)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "uri", uri);
    ks_json_set_str(j, "name", name);
    ks_json_set_str(j, "mimeType", mime);
    ks_json_set_str(j, "description", description);
    ks_json_push(all, j);
}

static void add_bank(const struct ks_mcp *m, struct ks_json *all)
{
    struct dirent **names;
    int n = scandir(m->bank, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;
        if (ks_str_ends(name, ".json")) {
            KS_AUTO_STR struct ks_str uri = KS_STR_INIT, title = KS_STR_INIT;
            ks_str_addf(&uri, BANK "%.*s", (int)(strlen(name) - strlen(".json")), name);
            ks_str_addf(&title, "questions: %.*s", (int)(strlen(name) - strlen(".json")), name);
            add(all, ks_str_cstr(&uri), ks_str_cstr(&title), "application/json",
                "questions about one layer, and when they are put");
        }
        free(names[i]);
    }
    if (n >= 0)
        free(names);
}

struct ks_json *ks_mcp_resources(const struct ks_mcp *m)
{
    struct ks_json *all = ks_json_array();
    if (m->engine.about) {
        add(all, ORIGINAL, "original source", "text/x-cuda",
            "the unit as it was when work on it began: what every trial is compared with");
        add(all, BEST, "best source", "text/x-cuda", "the best text that passed every gate; the original while there is none");
        add(all, TRACE, "trace", "application/jsonl", "every event so far, one JSON object a line");
    }
    add_bank(m, all);
    return all;
}

struct ks_json *ks_mcp_contents(const char *uri, const char *mime, const char *text)
{
    struct ks_json *all = ks_json_array(), *j = ks_json_object();
    ks_json_set_str(j, "uri", uri);
    ks_json_set_str(j, "mimeType", mime);
    ks_json_set_str(j, "text", text);
    ks_json_push(all, j);
    return all;
}

static bool from_file(const char *uri, const char *mime, const char *path, struct ks_json **ret)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_err err;
    if (!path || ks_file_read(path, KS_MAX_JSON_BYTES, &text, &err) != KS_OK)
        return false;
    *ret = ks_mcp_contents(uri, mime, ks_str_cstr(&text));
    return true;
}

/* The trace of the run that goes on, else of the last one. */
static bool read_trace(const struct ks_mcp *m, struct ks_json **ret)
{
    const char *part = ks_json_get_str(m->engine.about, "trace", NULL);
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    if (!part)
        return false;
    ks_str_add(&path, part);
    if (!ks_file_exists(part) && ks_str_ends(part, ".part")) {
        path.len -= strlen(".part");
        path.data[path.len] = '\0';
    }
    return from_file(TRACE, "application/jsonl", ks_str_cstr(&path), ret);
}

bool ks_mcp_resource(const struct ks_mcp *m, const char *uri, struct ks_json **ret_contents, const char **ret_tool)
{
    if (strcmp(uri, ORIGINAL) == 0)
        return from_file(uri, "text/x-cuda", ks_json_get_str(m->engine.about, "original", NULL), ret_contents);
    if (strcmp(uri, TRACE) == 0)
        return read_trace(m, ret_contents);
    if (strcmp(uri, BEST) == 0 && m->engine.about) {
        *ret_tool = "best_text";
        return true;
    }
    const char *layer = ks_str_starts(uri, BANK) ? uri + strlen(BANK) : "";
    if (!*layer || strspn(layer, "abcdefghijklmnopqrstuvwxyz-_0123456789") != strlen(layer))
        return false;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_str_addf(&path, "%s/%s.json", m->bank, layer);
    return from_file(uri, "application/json", ks_str_cstr(&path), ret_contents);
}
