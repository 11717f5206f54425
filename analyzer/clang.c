/* libclang's side of the analyzer: parse, diagnostics, and which functions of the main file there are.
 *
 * One pass suffices: with --cuda-device-only the tree holds host functions and launches as well, and __CUDA_ARCH__ is defined as
 * the device code needs it.  It takes 0.3 s to 0.6 s for a small unit, nearly all of it CUDA's and C++'s headers.  Host code that
 * only exists without
 * __CUDA_ARCH__ is not seen. */

#include <clang-c/Index.h> /* first: our header names its types */

#include "analyzer/clang_internal.h"

#include "analyzer/args.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KS_MAX_PARSE_ERRORS_TOLD 20
#define KS_PARSE_AGAIN_MS        10000

/* A device function that a header of the user defines. */
struct in_header {
    CXCursor cursor;
    CXFile file;
    const char *text; /* of the file; NULL: not converted */
};

struct collect {
    struct ks_conv *c;
    CXTranslationUnit tu;
    KS_VEC(CXFile) headers; /* that the unit's own #include lines bring in */
    KS_VEC(struct in_header) candidates;
    KS_VEC(struct ks_function) functions;
    ks_cursors written; /* the declaration of each */
};

/* ---- functions ---- */

static void read_attributes(const ks_cursors *kids, const struct ks_conv *c, struct ks_function *f)
{
    for (size_t i = 0; i < kids->n; i++) {
        enum CXCursorKind k = clang_getCursorKind(kids->data[i]);
        f->is_global |= k == CXCursor_CUDAGlobalAttr;
        f->is_device |= k == CXCursor_CUDADeviceAttr;
        f->is_host |= k == CXCursor_CUDAHostAttr;
        if (k == CXCursor_UnexposedAttr) { /* libclang knows no launch bounds: the text does */
            size_t at = ks_conv_span(kids->data[i]).begin;
            f->has_launch_bounds |= at + 17 <= c->source_len && strncmp(c->source + at, "__launch_bounds__", 17) == 0;
        }
    }
}

/* Callers pass an object that no parameter says. */
static bool takes_object(CXCursor cursor)
{
    enum CXCursorKind of = clang_getCursorKind(clang_getCursorSemanticParent(cursor));
    bool member =
        of == CXCursor_StructDecl || of == CXCursor_ClassDecl || of == CXCursor_UnionDecl || of == CXCursor_ClassTemplate;
    return member && !clang_CXXMethod_isStatic(cursor);
}

static struct ks_function read_function(struct ks_conv *c, CXCursor cursor, bool is_instance)
{
    ks_cursors kids = {0};
    ks_conv_children(cursor, &kids);
    struct ks_function f = {.is_template = is_instance || clang_getCursorKind(cursor) == CXCursor_FunctionTemplate,
                            .takes_object = takes_object(cursor)};
    c->in_template = f.is_template && !is_instance;
    read_attributes(&kids, c, &f);
    f.node = ks_conv_new(c, cursor, KS_NODE_FUNCTION, NULL);
    f.node->in_macro &= kids.n == 0;
    f.node->symbol = ks_conv_symbol(c, cursor);
    f.node->symbol->decl = f.node;
    f.name = f.node->name = f.node->symbol->name;
    f.result = ks_conv_type(c, clang_getCursorResultType(cursor));
    f.mangled = f.is_template ? f.name : ks_conv_string(c, clang_Cursor_getMangling(cursor));
    f.node->children = KS_ARENA_ARRAY(c->arena, struct ks_node *, kids.n + 1);
    f.params = KS_ARENA_ARRAY(c->arena, struct ks_symbol *, kids.n + 1);
    for (size_t i = 0; i < kids.n; i++) {
        enum CXCursorKind k = clang_getCursorKind(kids.data[i]);
        if (k != CXCursor_ParmDecl && k != CXCursor_CompoundStmt)
            continue;
        struct ks_node *child = ks_conv_node(c, kids.data[i], f.node);
        f.node->children[f.node->n_children++] = child;
        if (k == CXCursor_ParmDecl)
            f.params[f.n_params++] = child->symbol;
        else
            f.body = child;
    }
    ks_vec_release(&kids);
    return f;
}

static void convert_function(struct collect *ctx, CXCursor cursor)
{
    struct ks_function f = read_function(ctx->c, cursor, false);
    if (!f.body)
        return;
    ks_vec_push(&ctx->functions, f);
    ks_vec_push(&ctx->written, cursor);
}

/* An instance of a template that stands elsewhere as it was written.  clang lists those as well in an index that leaves the
 * prelude's declarations out. */
static bool is_instance(CXCursor cursor)
{
    CXCursor written = clang_getSpecializedCursorTemplate(cursor);
    return !clang_Cursor_isNull(written) &&
           clang_equalLocations(clang_getCursorLocation(written), clang_getCursorLocation(cursor));
}

/* ---- the user's headers -------------------------------------------------------------------------------------------------- */

#define KS_MAX_HEADER_FUNCTIONS 200
#define KS_MAX_CANDIDATES       1000 /* each is looked for in all device code */
#define KS_MAX_HEADER_ROUNDS    4

static void note_inclusion(CXFile file, CXSourceLocation *stack, unsigned depth, CXClientData data)
{
    struct collect *ctx = data;
    CXFile by = NULL;
    if (depth > 0)
        clang_getExpansionLocation(stack[depth - 1], &by, NULL, NULL, NULL);
    if (by && clang_File_isEqual(by, ctx->c->main_file))
        ks_vec_push(&ctx->headers, file);
}

/* Libraries that are parsed and not looked into, wherever they lie. */
static bool is_library(CXFile file)
{
    static const char *const parts[] = {"/cub/", "/thrust/", "/cutlass/", "/cute/", "/cuda/", "/nv/"};
    CXString name = clang_getFileName(file);
    const char *text = clang_getCString(name);
    bool found = false;
    for (size_t i = 0; text && i < sizeof parts / sizeof *parts; i++)
        found |= strstr(text, parts[i]) != NULL;
    clang_disposeString(name);
    return found;
}

static bool is_users(const struct collect *ctx, CXCursor cursor, CXFile file)
{
    if (clang_Location_isInSystemHeader(clang_getCursorLocation(cursor)) || is_library(file))
        return false;
    for (size_t i = 0; i < ctx->headers.n; i++)
        if (clang_File_isEqual(ctx->headers.data[i], file))
            return true;
    return false;
}

static bool is_device(CXCursor cursor)
{
    ks_cursors kids = {0};
    bool found = false;
    ks_conv_children(cursor, &kids);
    for (size_t i = 0; i < kids.n; i++)
        found |= clang_getCursorKind(kids.data[i]) == CXCursor_CUDADeviceAttr;
    ks_vec_release(&kids);
    return found;
}

static void note_candidate(struct collect *ctx, CXCursor cursor, CXFile file)
{
    enum CXCursorKind k = clang_getCursorKind(cursor);
    bool function = k == CXCursor_FunctionDecl || k == CXCursor_FunctionTemplate;
    function |= k == CXCursor_CXXMethod;
    if (ctx->candidates.n < KS_MAX_CANDIDATES && function && clang_isCursorDefinition(cursor) && is_users(ctx, cursor, file) &&
        is_device(cursor))
        ks_vec_push(&ctx->candidates, ((struct in_header){.cursor = cursor, .file = file}));
}

struct call_of {
    const char *name;
    bool found;
};

static bool visit_call_of(const struct ks_node *n, void *data)
{
    struct call_of *c = data;
    c->found |= n->kind == KS_NODE_CALL && ks_streq(n->name, c->name);
    return !c->found;
}

static bool is_called(const struct collect *ctx, CXCursor cursor)
{
    CXString name = clang_getCursorSpelling(cursor);
    struct call_of c = {.name = clang_getCString(name)};
    for (size_t i = 0; c.name && i < ctx->functions.n && !c.found; i++)
        if (ctx->functions.data[i].is_global || ctx->functions.data[i].is_device)
            ks_node_walk(ctx->functions.data[i].body, visit_call_of, &c);
    clang_disposeString(name);
    return c.found;
}

static const char *text_of(struct collect *ctx, CXFile file, size_t *ret_len)
{
    for (size_t i = 0; i < ctx->candidates.n; i++) {
        struct in_header *h = &ctx->candidates.data[i];
        if (h->text && clang_File_isEqual(h->file, file))
            return *ret_len = strlen(h->text), h->text;
    }
    const char *text = clang_getFileContents(ctx->tu, file, ret_len);
    return text ? ks_arena_strndup(ctx->c->arena, text, *ret_len) : NULL;
}

/* Nodes are of this text from here on. */
static void enter_text(struct collect *ctx, CXFile file, const char *text, size_t len, bool header)
{
    struct ks_conv *c = ctx->c;
    c->main_file = file;
    c->source = text;
    c->source_len = len;
    c->header = header ? text : NULL;
}

/* Those that device code calls, by name, and those that these call. */
static void convert_headers(struct collect *ctx)
{
    struct ks_conv unit = *ctx->c;
    size_t n = 0, len;
    bool more = true;
    for (int round = 0; round < KS_MAX_HEADER_ROUNDS && more; round++) {
        more = false;
        for (size_t i = 0; i < ctx->candidates.n && n < KS_MAX_HEADER_FUNCTIONS; i++) {
            struct in_header *h = &ctx->candidates.data[i];
            const char *text = h->text || !is_called(ctx, h->cursor) ? NULL : text_of(ctx, h->file, &len);
            if (!text)
                continue;
            h->text = text;
            enter_text(ctx, h->file, text, len, true);
            convert_function(ctx, h->cursor);
            more = true;
            n++;
        }
    }
    enter_text(ctx, unit.main_file, unit.source, unit.source_len, false);
}

/* ---- instances of templates ------------------------------------------------------------------------------------------------ */

/* The text that a place lies in, where it may be looked at: the unit's, a header's of the user.  NULL: another's. */
static const char *text_at(struct collect *ctx, CXCursor cursor, CXFile *ret_file, size_t *ret_len)
{
    clang_getExpansionLocation(clang_getCursorLocation(cursor), ret_file, NULL, NULL, NULL);
    if (*ret_file && clang_File_isEqual(*ret_file, ctx->c->main_file)) {
        *ret_len = ctx->c->source_len;
        return ctx->c->source;
    }
    return *ret_file && is_users(ctx, cursor, *ret_file) ? text_of(ctx, *ret_file, ret_len) : NULL;
}

static struct ks_function *written_as(struct collect *ctx, CXCursor cursor)
{
    for (size_t i = 0; i < ctx->written.n; i++)
        if (clang_equalCursors(ctx->written.data[i], cursor))
            return &ctx->functions.data[i];
    return NULL;
}

/* The first instance that is called or launched stands for its template; of a class template's members there is nothing else.
 * An instance's text may name others. */
static void convert_instances(struct collect *ctx)
{
    struct ks_conv *c = ctx->c, unit = *c;
    for (size_t i = 0; i < c->instances.n; i++) {
        CXCursor instance = c->instances.data[i], written = clang_getSpecializedCursorTemplate(instance);
        CXFile file = NULL;
        size_t len = 0;
        const char *text = text_at(ctx, written, &file, &len);
        struct ks_function *as_written = written_as(ctx, written);
        if (!text || (as_written && as_written->node->symbol->has_instance))
            continue;
        enter_text(ctx, file, text, len, text != unit.source);
        struct ks_function f = read_function(c, instance, true);
        enter_text(ctx, unit.main_file, unit.source, unit.source_len, false);
        if (!f.body)
            continue;
        f.node->symbol->has_instance = true;
        if (as_written) {
            f.has_launch_bounds |= as_written->has_launch_bounds;
            f.node->span = as_written->node->span; /* the text has "template <...>" in front of it */
            *as_written = f;
        } else {
            ks_vec_push(&ctx->functions, f);
            ks_vec_push(&ctx->written, written);
        }
    }
}

static enum CXChildVisitResult visit_top(CXCursor cursor, CXCursor parent, CXClientData data)
{
    (void)parent;
    struct collect *ctx = data;
    CXFile file;
    clang_getExpansionLocation(clang_getCursorLocation(cursor), &file, NULL, NULL, NULL);
    enum CXCursorKind k = clang_getCursorKind(cursor);
    if (!file || is_instance(cursor))
        return CXChildVisit_Continue;
    if (!clang_File_isEqual(file, ctx->c->main_file)) {
        note_candidate(ctx, cursor, file);
        bool opens =
            (k == CXCursor_Namespace || k == CXCursor_LinkageSpec || k == CXCursor_StructDecl || k == CXCursor_ClassDecl) &&
            ctx->headers.n && is_users(ctx, cursor, file);
        return opens ? CXChildVisit_Recurse : CXChildVisit_Continue;
    }
    if (k == CXCursor_FunctionDecl || k == CXCursor_FunctionTemplate || k == CXCursor_CXXMethod) {
        if (clang_isCursorDefinition(cursor))
            convert_function(ctx, cursor);
        return CXChildVisit_Continue;
    }
    if (k == CXCursor_VarDecl) {
        ctx->c->in_template = false;
        (void)ks_conv_node(ctx->c, cursor, NULL); /* so that the symbol knows its declaration and value */
        return CXChildVisit_Continue;
    }
    bool is_scope = k == CXCursor_Namespace || k == CXCursor_LinkageSpec || k == CXCursor_StructDecl || k == CXCursor_ClassDecl ||
                    k == CXCursor_UnexposedDecl;
    return is_scope ? CXChildVisit_Recurse : CXChildVisit_Continue;
}

/* ---- diagnostics ---- */

/* Errors of clang that nvcc does not share: they say nothing about the user's text. */
static bool is_clang_only(const char *text)
{
    static const char *const phrases[] = {"invalid input constraint 'C' in asm",
                                          "invalid % escape in inline assembly string",
                                          "invalid operand number in inline asm string",
                                          "reference to __host__ function",
                                          "initialization is not supported for __shared__ variables",
                                          "variable-sized object may not be initialized"};
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++) {
        if (strstr(text, phrases[i]))
            return true;
    }
    /* clang's device code has a long double of 8 bytes */
    return strstr(text, "static assertion failed") && strstr(text, "long double");
}

static enum ks_severity severity_of(enum CXDiagnosticSeverity s)
{
    return s >= CXDiagnostic_Error ? KS_SEV_ERROR : s == CXDiagnostic_Warning ? KS_SEV_WARNING : KS_SEV_NOTE;
}

static void mark_function(struct collect *ctx, unsigned off_byte)
{
    for (size_t i = 0; i < ctx->functions.n; i++) {
        struct ks_function *f = &ctx->functions.data[i];
        if (!f->node->header && off_byte >= f->node->span.begin && off_byte < f->node->span.end)
            f->has_error = true;
    }
}

/* Instances of a template repeat the errors of its text. */
static bool is_told(const struct ks_diags *diags, const char *file, uint32_t line, uint32_t col)
{
    for (size_t i = 0; i < diags->n; i++) {
        const struct ks_diag *d = &diags->data[i];
        if (line && d->line == line && d->col == col && ks_streq(d->file, file))
            return true;
    }
    return false;
}

/* Diagnostics are taken from their set, which belongs to the tree: clang_getNumDiagnostics() may make it anew at each call, which
 * takes hours on a file that is no text. */
static size_t report(struct collect *ctx, CXTranslationUnit tu, const char *path, struct ks_diags *diags)
{
    size_t n_errors = 0, n_told = 0, n_more = 0;
    CXDiagnosticSet set = clang_getDiagnosticSetFromTU(tu);
    for (unsigned i = 0; i < clang_getNumDiagnosticsInSet(set); i++) {
        CXDiagnostic d = clang_getDiagnosticInSet(set, i);
        enum ks_severity severity = severity_of(clang_getDiagnosticSeverity(d));
        CXString text = clang_getDiagnosticSpelling(d);
        const char *message = clang_getCString(text);
        if (severity == KS_SEV_ERROR && message && !is_clang_only(message)) {
            CXFile file;
            unsigned line, col, off_byte;
            clang_getFileLocation(clang_getDiagnosticLocation(d), &file, &line, &col, &off_byte);
            bool in_main = file && clang_File_isEqual(file, ctx->c->main_file);
            CXString name = clang_getFileName(file);
            const char *other = file ? clang_getCString(name) : NULL;
            unsigned len = 1;
            while (in_main && off_byte + len < ctx->c->source_len && ks_conv_is_word(ctx->c->source[off_byte]) &&
                   ks_conv_is_word(ctx->c->source[off_byte + len]))
                len++;
            const char *where = in_main ? path : other;
            bool told = is_told(diags, where, file ? line : 0, file ? col : 0);
            n_more += !told && n_told >= KS_MAX_PARSE_ERRORS_TOLD;
            if (!told && n_told++ < KS_MAX_PARSE_ERRORS_TOLD)
                ks_diags_add(diags, severity, where, file ? line : 0, file ? col : 0, len, "parse", "%s", message);
            clang_disposeString(name);
            n_errors++;
            if (in_main)
                mark_function(ctx, off_byte);
        }
        clang_disposeString(text);
        clang_disposeDiagnostic(d);
    }
    if (n_more)
        ks_diags_add(diags, KS_SEV_ERROR, path, 0, 0, 1, "parse", "%zu more errors are not shown", n_more);
    return n_errors;
}

/* ---- the parse ---- */

static size_t count_errors(CXTranslationUnit tu)
{
    size_t n = 0;
    CXDiagnosticSet set = clang_getDiagnosticSetFromTU(tu);
    for (unsigned i = 0; i < clang_getNumDiagnosticsInSet(set); i++) {
        CXDiagnostic d = clang_getDiagnosticInSet(set, i);
        CXString text = clang_getDiagnosticSpelling(d);
        n += severity_of(clang_getDiagnosticSeverity(d)) == KS_SEV_ERROR && !is_clang_only(clang_getCString(text));
        clang_disposeString(text);
        clang_disposeDiagnostic(d);
    }
    return n;
}

/* Some builds of libclang look for their own headers beside the program: they are told where theirs are: clang/22
 * beside the library, when it is there. */
static void add_resource_dir(struct ks_args *args)
{
    Dl_info info;
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    KS_AUTO_FREE char *library = NULL;
    if (!dladdr((const void *)(uintptr_t)clang_getClangVersion, &info) || !(library = realpath(info.dli_fname, NULL)))
        return;
    ks_path_dir(&dir, library);
    ks_str_add(&dir, "/clang/22");
    if (ks_file_exists(ks_str_cstr(&dir)))
        ks_args_addf(args, "-resource-dir=%s", ks_str_cstr(&dir));
}

/* A tree, and the action that made it: the tree refers to it as long as it lives. */
struct parsed {
    CXIndexAction action;
    CXTranslationUnit tu; /* NULL: none */
};

static void parsed_release(struct parsed *p)
{
    if (p->tu)
        clang_disposeTranslationUnit(p->tu);
    if (p->action)
        clang_IndexAction_dispose(p->action);
    *p = (struct parsed){0};
}

/* A file without a name that holds the text; -1: none to be had. */
static int text_file(const char *source, size_t source_len)
{
    int fd = memfd_create("kscc-unit", MFD_CLOEXEC);
    for (size_t at = 0; fd >= 0 && at < source_len;) {
        ssize_t n = write(fd, source + at, source_len - at);
        if (n > 0)
            at += (size_t)n;
        else if (n < 0 && errno != EINTR)
            close(fd), fd = -1;
    }
    return fd;
}

static bool is_cut_short(CXTranslationUnit tu)
{
    bool fatal = false;
    CXDiagnosticSet set = clang_getDiagnosticSetFromTU(tu);
    for (unsigned i = 0; i < clang_getNumDiagnosticsInSet(set); i++) {
        CXDiagnostic d = clang_getDiagnosticInSet(set, i);
        fatal |= clang_getDiagnosticSeverity(d) == CXDiagnostic_Fatal;
        clang_disposeDiagnostic(d);
    }
    return fatal;
}

/* The parse that libclang's indexing begins with, without the indexing: the one way to have the bodies of functions in system
 * headers skipped and all others kept.  With CUB included it takes three quarters of the time, and nothing in those bodies is
 * looked at here.  The text stands in a file of its own, because libclang 22 frees an unsaved one twice there.  After a fatal
 * error, such as a missing header, it says nothing more: then the ordinary parse, which goes on, has to do. */
static enum CXErrorCode parse_once(CXIndex index, const char *path, const struct ks_args *args, const char *prelude,
                                   struct parsed *ret)
{
    IndexerCallbacks none = {0};
    KS_AUTO_ARGS struct ks_args words;
    ks_args_init(&words);
    for (size_t i = 0; i < args->n; i++)
        ks_args_add(&words, args->v[i]);
    if (prelude) {
        ks_args_add(&words, "-include-pch");
        ks_args_add(&words, prelude);
    }
    const char *const *argv = (const char *const *)words.v;
    *ret = (struct parsed){.action = clang_IndexAction_create(index)};
    int rc = clang_indexSourceFile(ret->action, NULL, &none, sizeof none,
                                   CXIndexOpt_SkipParsedBodiesInSession | CXIndexOpt_IndexImplicitTemplateInstantiations, path,
                                   argv, (int)words.n, NULL, 0, &ret->tu, CXTranslationUnit_KeepGoing);
    if (rc != CXError_Success || !ret->tu || !is_cut_short(ret->tu))
        return (enum CXErrorCode)rc;
    parsed_release(ret);
    if (prelude) /* a header may have changed since: as if there were none */
        return parse_once(index, path, args, NULL, ret);
    return clang_parseTranslationUnit2(index, path, argv, (int)words.n, NULL, 0, CXTranslationUnit_KeepGoing, &ret->tu);
}

/* Units that look at the compiler's name may only make sense with nvcc's: a second attempt claims to be nvcc, and counts when it
 * has fewer errors.  It would find no header that the first has missed, and templates that keep the first busy for long would
 * keep the second one as long. */
static enum ks_code parse_unit(CXIndex index, const char *path, const char *source, size_t source_len,
                               const struct ks_parse_options *opt, struct parsed *ret, struct ks_err *err)
{
    KS_AUTO_FD int text_fd = text_file(source, source_len);
    if (text_fd < 0)
        return ks_fail(err, KS_ERR_IO, "parse '%s': cannot keep %zu bytes in memory", path, source_len);
    if (strchr(path, ';')) /* which ends the first of the two names */
        return ks_fail(err, KS_ERR_UNSUPPORTED, "parse '%s': its name has a ';'", path);
    struct parsed best = {0};
    enum CXErrorCode rc = CXError_Success;
    bool again = true;
    for (int attempt = 0; attempt < 2 && again && (!best.tu || count_errors(best.tu) > 0); attempt++) {
        KS_AUTO_ARGS struct ks_args args;
        struct parsed next;
        int64_t start_ns = ks_clock_ns();
        ks_args_init(&args);
        ks_clang_args(opt, &args);
        add_resource_dir(&args);
        if (attempt == 1)
            ks_args_add(&args, "-D__NVCC__");
        const char *prelude = ks_clang_prelude(index, &args);
        const char *const remap[] = {"-Xclang", "-remap-file", "-Xclang"};
        for (size_t i = 0; i < sizeof remap / sizeof *remap; i++)
            ks_args_add(&args, remap[i]);
        ks_args_addf(&args, "%s;/proc/self/fd/%d", path, text_fd);
        rc = parse_once(index, path, &args, prelude, &next);
        if (rc == CXError_Success && next.tu && (!best.tu || count_errors(next.tu) < count_errors(best.tu))) {
            struct parsed worse = best;
            best = next;
            next = worse;
        }
        parsed_release(&next);
        again = ks_clock_ns() - start_ns < KS_PARSE_AGAIN_MS * 1000000ll && !(best.tu && is_cut_short(best.tu));
    }
    if (!best.tu)
        return ks_fail(err, KS_ERR_SYNTAX,
                       rc == CXError_Crashed ? "parse '%s': libclang crashed on it" : "parse '%s': libclang gave no syntax tree",
                       path);
    *ret = best;
    return KS_OK;
}

static struct ks_mirror *convert_unit(CXTranslationUnit tu, bool user_headers, const char *path, const char *source,
                                      size_t source_len, struct ks_arena *arena, struct ks_diags *diags)
{
    struct ks_conv conv = {.arena = arena, .source = ks_arena_strndup(arena, source, source_len), .source_len = source_len};
    conv.main_file = clang_getFile(tu, path);
    struct collect ctx = {.c = &conv, .tu = tu};
    if (user_headers)
        clang_getInclusions(tu, note_inclusion, &ctx);
    clang_visitChildren(clang_getTranslationUnitCursor(tu), visit_top, &ctx);
    convert_headers(&ctx);
    convert_instances(&ctx);
    struct ks_mirror *m = KS_ARENA_NEW(arena, struct ks_mirror);
    m->path = ks_arena_strdup(arena, path);
    m->source = conv.source;
    m->source_len = source_len;
    m->arena = arena;
    m->n_errors = report(&ctx, tu, m->path, diags);
    m->n_functions = ctx.functions.n;
    m->functions = KS_ARENA_ARRAY(arena, struct ks_function, ctx.functions.n + 1);
    if (ctx.functions.n)
        memcpy(m->functions, ctx.functions.data, ctx.functions.n * sizeof *m->functions);
    ks_vec_release(&ctx.functions);
    ks_vec_release(&ctx.written);
    ks_vec_release(&ctx.headers);
    ks_vec_release(&ctx.candidates);
    ks_vec_release(&conv.instances);
    ks_conv_release(&conv);
    return m;
}

enum ks_code ks_mirror_parse(const char *path, const char *source, size_t source_len, const struct ks_parse_options *opt,
                             struct ks_arena *arena, struct ks_diags *diags, struct ks_mirror **ret_mirror, struct ks_err *err)
{
    if (source_len > KS_MAX_SOURCE_BYTES)
        return ks_fail(err, KS_ERR_LIMIT, "parse '%s': larger than %u bytes", path, KS_MAX_SOURCE_BYTES);
    CXIndex index = clang_createIndex(1, 0);
    struct parsed parsed = {0};
    enum ks_code code = parse_unit(index, path, source, source_len, opt, &parsed, err);
    if (code == KS_OK)
        *ret_mirror = convert_unit(parsed.tu, opt->user_headers, path, source, source_len, arena, diags);
    parsed_release(&parsed);
    clang_disposeIndex(index);
    return code;
}
