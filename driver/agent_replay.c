#include "driver/agent_replay.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/str.h"

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

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads "LAYER GAIN HYPOTHESIS" of the first kscc-propose line; leaves p without a statement when there is none. */
static void read_statement(const char *text, struct ks_proposal *p)
{
    static const char mark[] = "// kscc-propose:";
    const char *line = strstr(text, mark);
    char layer[64], rest[1024];
    double gain;
    if (!line)
        return;
    KS_AUTO_FREE char *copy = ks_xstrndup(line + strlen(mark), strcspn(line + strlen(mark), "\r\n"));
    if (sscanf(copy, " %63s %lf %1023[^\n]", layer, &gain, rest) != 3 || !ks_layer_parse(layer, &p->layer) || !(gain > 0))
        return;
    p->predicted_speedup = gain;
    p->hypothesis = ks_xstrdup(rest);
}

static enum ks_code propose(struct ks_agent *self, const struct ks_agent_view *view, struct ks_proposal *ret, struct ks_err *err)
{
    struct replay *r = (struct replay *)self;
    (void)view;
    *ret = (struct ks_proposal){.layer = KS_N_LAYERS};
    if (r->next == r->names.n)
        return KS_OK;
    const char *name = r->names.v[r->next++];
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    ks_path_join(&path, r->dir, name);
    KS_TRY(ks_file_read(ks_str_cstr(&path), KS_MAX_SOURCE_BYTES, &text, err));
    read_statement(ks_str_cstr(&text), ret);
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
    r->agent = (struct ks_agent){.name = "file", .propose = propose, .free = replay_free};
    r->dir = ks_xstrdup(dir);
    ks_args_init(&r->names);
    for (struct dirent *e; (e = readdir(d));)
        if (ks_str_ends(e->d_name, ".cu"))
            ks_args_add(&r->names, e->d_name);
    closedir(d);
    if (r->names.n)
        qsort(r->names.v, r->names.n, sizeof(char *), compare_names);
    *ret = &r->agent;
    return KS_OK;
}
