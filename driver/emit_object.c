#include "driver/emit.h"

#include "base/process.h"
#include "harness/object.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The first line that names an error; compilers first say where they are. */
static const char *first_error(const char *text)
{
    const char *error = strstr(text, "error");
    while (error && error > text && error[-1] != '\n')
        error--;
    return error ? error : text;
}

enum ks_code ks_tool_run(char *const *argv, struct ks_str *out, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str own_out = KS_STR_INIT, errors = KS_STR_INIT, how = KS_STR_INIT;
    struct ks_spawn s;
    struct ks_exit e;
    ks_spawn_init(&s);
    s.argv = argv;
    s.timeout_ms = 300000;
    KS_TRY(ks_process_run(&s, out ? out : &own_out, &errors, &e, err));
    if (ks_exit_ok(&e))
        return KS_OK;
    ks_exit_describe(&e, &how);
    const char *said = first_error(ks_str_cstr(&errors));
    return ks_fail(err, KS_ERR_BUILD, "'%s' %s: %.*s", argv[0], ks_str_cstr(&how), (int)strcspn(said, "\n"), said);
}

/* Column `k` of "name |value| class | type | size |line| section", without its blanks. */
static const char *column(const char *line, size_t len, int k, size_t *ret_len)
{
    const char *p = line, *end = line + len, *bar;
    for (; k > 0 && p && (p = memchr(p, '|', (size_t)(end - p))); k--)
        p++;
    if (!p)
        return NULL;
    bar = memchr(p, '|', (size_t)(end - p));
    end = bar ? bar : end;
    while (p < end && *p == ' ')
        p++;
    while (end > p && end[-1] == ' ')
        end--;
    *ret_len = (size_t)(end - p);
    return p;
}

/* `nm -f sysv`: one row for each symbol behind a heading. */
enum ks_code ks_symtab_read(const char *object, struct ks_symtab *ret, struct ks_err *err)
{
    char *const argv[] = {"nm", "-f", "sysv", (char *)object, NULL};
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    KS_TRY(ks_tool_run(argv, &out, err));
    struct ks_symtab t = {0};
    for (const char *line = ks_str_cstr(&out); *line;) {
        size_t len = strcspn(line, "\n"), name_len, type_len, section_len;
        const char *name = column(line, len, 0, &name_len), *type = column(line, len, 2, &type_len),
                   *section = column(line, len, 6, &section_len);
        if (name && type && section && name_len && type_len == 1) {
            if (t.n == t.cap)
                t.data = ks_vec_grow_(t.data, &t.cap, sizeof(*t.data));
            t.data[t.n].name = ks_xstrndup(name, name_len);
            t.data[t.n].section = ks_xstrndup(section, section_len);
            t.data[t.n++].type = type[0];
        }
        line += len + (line[len] == '\n');
    }
    *ret = t;
    return KS_OK;
}

void ks_symtab_release(struct ks_symtab *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->data[i].name);
        free(t->data[i].section);
    }
    free(t->data);
    *t = (struct ks_symtab){0};
}

/* `readelf -sW`: "Num: Value Size Type Bind Vis Ndx Name". */
enum ks_code ks_symbol_visibility(const char *object, const char *name, char ret_visibility[16], struct ks_err *err)
{
    char *const argv[] = {"readelf", "-sW", (char *)object, NULL};
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    KS_TRY(ks_tool_run(argv, &out, err));
    for (const char *line = ks_str_cstr(&out); *line; line += strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n')) {
        char visibility[16];
        int at = 0;
        if (sscanf(line, " %*d: %*s %*s %*s %*s %15s %*s %n", visibility, &at) != 1 || at == 0)
            continue;
        size_t len = strcspn(line + at, " \n");
        if (strlen(name) != len || strncmp(line + at, name, len) != 0)
            continue;
        for (size_t i = 0; i < sizeof(visibility); i++)
            ret_visibility[i] = (char)tolower((unsigned char)visibility[i]);
        return KS_OK;
    }
    return ks_fail(err, KS_ERR_NOT_FOUND, "cannot find symbol '%s' in '%s'", name, object);
}

bool ks_symbol_is_definition(char type)
{
    return type != 'U' && type != 'w' && type != 'v';
}

bool ks_symbol_is_global_definition(char type)
{
    return ks_symbol_is_definition(type) && (isupper((unsigned char)type) || type == 'u' || type == 'n');
}

enum ks_code ks_emit_check_state(const char *object, const char *what, struct ks_err *err)
{
    struct ks_object o;
    KS_AUTO_STR struct ks_str reason = KS_STR_INIT;
    KS_TRY(ks_object_read_host(object, &o, err));
    bool none = ks_state_check(NULL, &o, &reason);
    ks_object_release(&o);
    return none ? KS_OK : ks_fail(err, KS_ERR_UNSUPPORTED, "%s %s, which two versions cannot share", what, ks_str_cstr(&reason));
}
