/* What stands before a unit's own text (CUDA's and C++'s headers, -include) is nine tenths of a small unit's parse.  It is
 * precompiled at a line's first parse: both together cost no more than a parse in full, because bodies of functions are skipped
 * there, and whoever parses by the same words again (a search, a compilation database, the tests) gets it for nothing.
 */

#include <clang-c/Index.h> /* first: our header names its types */

#include "analyzer/clang_internal.h"

#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAX_PRELUDES 8 /* lines remembered in one process, each with and without nvcc's name; the rest are parsed in full */

struct prelude {
    char *words; /* owned, for the life of the process */
    int fd;      /* of the precompiled prelude, without a name; -1: none */
    bool tried;  /* it was made, or could not be */
    char path[32];
};

static struct prelude preludes[MAX_PRELUDES];
static size_t n_preludes;

static struct prelude *find(const struct ks_args *args)
{
    KS_AUTO_STR struct ks_str words = KS_STR_INIT;
    for (size_t i = 0; i < args->n; i++) {
        ks_str_add(&words, args->v[i]);
        ks_str_addc(&words, '\n');
    }
    for (size_t i = 0; i < n_preludes; i++)
        if (strcmp(preludes[i].words, ks_str_cstr(&words)) == 0)
            return &preludes[i];
    if (n_preludes == MAX_PRELUDES)
        return NULL;
    preludes[n_preludes] = (struct prelude){.words = ks_xstrdup(ks_str_cstr(&words)), .fd = -1};
    return &preludes[n_preludes++];
}

static bool has_errors(CXTranslationUnit tu)
{
    bool any = false;
    CXDiagnosticSet set = clang_getDiagnosticSetFromTU(tu);
    for (unsigned i = 0; i < clang_getNumDiagnosticsInSet(set); i++) {
        CXDiagnostic d = clang_getDiagnosticInSet(set, i);
        any |= clang_getDiagnosticSeverity(d) >= CXDiagnostic_Error;
        clang_disposeDiagnostic(d);
    }
    return any;
}

/* A prelude with an error in it is parsed in full each time, so that the error is told each time. */
static void make(CXIndex index, const struct ks_args *args, struct prelude *p)
{
    static const char name[] = "kscc-prelude.cu";
    CXTranslationUnit tu = NULL;
    struct CXUnsavedFile empty = {name, "", 0};
    KS_AUTO_FREE char *dir = NULL;
    KS_AUTO_STR struct ks_str file = KS_STR_INIT;
    struct ks_err err;
    struct rlimit size;
    p->tried = true;
    if (getrlimit(RLIMIT_FSIZE, &size) < 0 || size.rlim_cur != RLIM_INFINITY) /* a file too large would end the process */
        return;
    if (ks_dir_make_temp("kscc-prelude", &dir, &err) != KS_OK)
        return;
    ks_path_join(&file, dir, "prelude.pch");
    unsigned how = CXTranslationUnit_Incomplete | CXTranslationUnit_ForSerialization | CXTranslationUnit_SkipFunctionBodies;
    enum CXErrorCode rc =
        clang_parseTranslationUnit2(index, name, (const char *const *)args->v, (int)args->n, &empty, 1, how, &tu);
    if (rc == CXError_Success && !has_errors(tu) &&
        clang_saveTranslationUnit(tu, ks_str_cstr(&file), CXSaveTranslationUnit_None) == 0)
        p->fd = open(ks_str_cstr(&file), O_RDONLY | O_CLOEXEC);
    if (p->fd >= 0)
        snprintf(p->path, sizeof p->path, "/proc/self/fd/%d", p->fd);
    if (tu)
        clang_disposeTranslationUnit(tu);
    (void)!ks_dir_remove(dir, &err); /* what is open stays readable; a folder that stays in /tmp does no harm */
}

const char *ks_clang_prelude(CXIndex index, const struct ks_args *args)
{
    struct prelude *p = find(args);
    if (!p)
        return NULL;
    if (!p->tried)
        make(index, args, p);
    return p->fd >= 0 ? p->path : NULL;
}
