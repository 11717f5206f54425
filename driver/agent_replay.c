#include "driver/agent_replay.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/str.h"
#include "driver/say.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct replay {
    struct ks_agent agent; /* first: the caller holds a pointer to it */
    char *dir;
    struct ks_args names; /* sorted */
    size_t next;
};

static const char mark[] = "// kscc-propose:";

/* The statement's line among the comments and blank lines that lead the text, or NULL. */
static const char *find_statement(const char *text)
{
    text += ks_str_bom(text, strlen(text));
    for (const char *p = text + strspn(text, " \t\r\n"); p[0] == '/' && (p[1] == '/' || p[1] == '*'); p += strspn(p, " \t\r\n")) {
        if (ks_str_starts(p, mark))
            return p;
        const char *end = p[1] == '*' ? strstr(p + 2, "*/") : NULL;
        p = end ? end + 2 : p + strcspn(p, "\n");
    }
    return NULL;
}

static void say_layers(const char *name, const char *word)
{
    KS_AUTO_STR struct ks_str layers = KS_STR_INIT;
    for (int i = 0; i < KS_N_LAYERS; i++)
        ks_str_addf(&layers, "%s%s", i ? ", " : "", ks_layer_text((enum ks_layer)i));
    ks_say(KS_SEV_WARNING, "%s: '%s' in its kscc-propose line is no layer: expected one of %s [kscc-syntax]", name, word,
           ks_str_cstr(&layers));
}

/* Reads "LAYER GAIN HYPOTHESIS" of the kscc-propose line; leaves p without a statement, and says why, when it cannot. */
static void read_statement(const char *name, const char *text, struct ks_proposal *p)
{
    const char *line = find_statement(text);
    char layer[64] = "", rest[1024];
    double gain;
    if (!line && strstr(text, mark))
        ks_say(KS_SEV_WARNING, "%s: its kscc-propose line must come before the first line of code [kscc-syntax]", name);
    if (!line)
        return;
    KS_AUTO_FREE char *copy = ks_xstrndup(line + strlen(mark), strcspn(line + strlen(mark), "\r\n"));
    int n = sscanf(copy, " %63s %lf %1023[^\n]", layer, &gain, rest);
    if (n >= 1 && !ks_layer_parse(layer, &p->layer)) {
        say_layers(name, layer);
        return;
    }
    if (n != 3 || !(gain > 0)) {
        ks_say(KS_SEV_WARNING, "%s: expected '%s LAYER GAIN HYPOTHESIS' with a GAIN such as 1.8, got '%s' [kscc-syntax]", name,
               mark, copy);
        return;
    }
    p->predicted_speedup = gain;
    p->hypothesis = ks_xstrdup(rest);
}

static enum ks_code propose(struct ks_agent *self, const struct ks_agent_view *view, struct ks_proposal *ret, struct ks_err *err)
{
    struct replay *r = (struct replay *)self;
    (void)view;
    *ret = (struct ks_proposal){.layer = KS_N_LAYERS, .parent = KS_PARENT_BEST};
    if (r->next == r->names.n)
        return KS_OK;
    const char *name = r->names.v[r->next++];
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    ks_path_join(&path, r->dir, name);
    KS_TRY(ks_file_read(ks_str_cstr(&path), KS_MAX_SOURCE_BYTES, &text, err));
    read_statement(name, ks_str_cstr(&text), ret);
    ret->transform = ks_xstrdup(name);
    ks_str_reserve(&text, 1); /* an empty file is a text too, and NULL would mean: nothing left */
    ret->source = ks_str_detach(&text, &ret->source_len);
    return KS_OK;
}

static void replay_free(struct ks_agent *self)
{
    struct replay *r = (struct replay *)self;
    ks_args_release(&r->names);
    free(r->dir);
    free(r);
}

enum ks_code ks_agent_replay_new(const char *dir, struct ks_agent **ret, struct ks_err *err)
{
    DIR *d = opendir(dir);
    if (!d)
        return ks_fail_errno(err, KS_ERR_NOT_FOUND, "cannot read the folder of candidates '%s'", dir);
    struct replay *r = ks_xcalloc(1, sizeof(*r));
    r->agent = (struct ks_agent){.name = "file", .several = true, .propose = propose, .free = replay_free};
    r->dir = ks_xstrdup(dir);
    ks_args_init(&r->names);
    for (struct dirent *e; (e = readdir(d));)
        if (ks_str_ends(e->d_name, ".cu"))
            ks_args_add(&r->names, e->d_name);
    closedir(d);
    ks_args_sort(&r->names, 0);
    *ret = &r->agent;
    return KS_OK;
}
