#include "driver/fingerprint.h"

#include "base/file.h"

#include <ctype.h>
#include <string.h>

void ks_fingerprint_split(const char *line, struct ks_args *out)
{
    KS_AUTO_STR struct ks_str word = KS_STR_INIT;
    bool quoted = false, any = false;
    for (const char *p = line; *p && *p != '\n'; p++) {
        if (*p == '\\' && p[1] && p[1] != '\n') {
            ks_str_addc(&word, *++p);
            any = true;
        } else if (*p == '"') {
            quoted = !quoted;
            any = true;
        } else if (!quoted && isspace((unsigned char)*p)) {
            if (any)
                ks_args_add(out, ks_str_cstr(&word));
            ks_str_clear(&word);
            any = false;
        } else {
            ks_str_addc(&word, *p);
            any = true;
        }
    }
    if (any)
        ks_args_add(out, ks_str_cstr(&word));
}

/* ---- words ---------------------------------------------------------------------------------------------------------- */

/* Of the host compiler, by how they begin; the rest of it is not known well enough. */
static const char *const known[] = {"-D",         "-U",        "-I",        "-O",        "-f",       "-g",      "-m",
                                    "-W",         "-std=",     "-w",        "-E",        "-c",       "-o",      "-x",
                                    "-ansi",      "-pipe",     "-pg",       "-p",        "-isystem", "-iquote", "-include",
                                    "-idirafter", "-pedantic", "-nostdinc", "--sysroot="};
/* Those that begin like one of the others and read or write files of their own. */
static const char *const refused[] = {"-fprofile",
                                      "-fauto-profile",
                                      "-fplugin",
                                      "-fbranch-prob",
                                      "-fdump",
                                      "-fcallgraph-info",
                                      "-fstack-usage",
                                      "-ftest-coverage",
                                      "-fopt-info",
                                      "-fsave-",
                                      "-fdiagnostics-format",
                                      "-flto",
                                      "-fmodule",
                                      "-fself-test",
                                      "-fcompare-debug",
                                      "-fpch",
                                      "-fpre",
                                      "-fcoverage",
                                      "-fdeps",
                                      "-fworking",
                                      "-fcs-",
                                      "-fmemory-profile",
                                      "-fthinlto",
                                      "-fbuild",
                                      "-fuse-",
                                      "-fembed",
                                      "-fsanitize-",
                                      "-fxray",
                                      "-fintegrated",
                                      "-fno-integrated",
                                      "-ftime",
                                      "-fmem-",
                                      "-fwrite",
                                      "-foffload",
                                      "-fvtv",
                                      "-finstrument-functions-",
                                      "-gsplit",
                                      "-gdwarf-split",
                                      "-mllvm",
                                      "-Wa,",
                                      "-Wp,",
                                      "-mspecs",
                                      "-include-pch",
                                      "-Winvalid-pch",
                                      "-mlto",
                                      "-Xclang"};

static bool takes_next(const char *word)
{
    static const char *const names[] = {"-o", "-x", "-isystem", "-iquote", "-include", "-idirafter", "-D", "-U", "-I"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(word, names[i]) == 0)
            return true;
    return false;
}

static enum ks_code check_host(const struct ks_args *words, struct ks_err *err)
{
    for (size_t i = 1; i < words->n; i++) {
        const char *w = words->v[i];
        bool known_word = w[0] != '-' ? w[0] != '@' : ks_str_starts_one(w, known, sizeof(known) / sizeof(known[0]));
        if (!known_word || ks_str_starts_one(w, refused, sizeof(refused) / sizeof(refused[0])))
            return ks_fail(err, KS_ERR_UNSUPPORTED, "'%s' may read or write files of its own", w);
        i += takes_next(w);
    }
    return KS_OK;
}

static enum ks_code check_device(const struct ks_args *words, struct ks_err *err)
{
    static const char *const names[] = {"options-file", "-optf", "time-trace", "opt-info", "-keep", "-dump",
                                        "-list",        "xref",  "profile",    "library",  "replay"};
    for (size_t i = 1; i < words->n; i++)
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
            if (words->v[i][0] == '@' || (words->v[i][0] == '-' && strstr(words->v[i], names[k])))
                return ks_fail(err, KS_ERR_UNSUPPORTED, "'%s' may read or write files of its own", words->v[i]);
    return KS_OK;
}

enum ks_code ks_fingerprint_check_line(const struct ks_args *words, struct ks_err *err)
{
    static const char *const device[] = {"cicc", "cudafe++", "ptxas", "fatbinary", "nvlink", "rm"};
    const char *base = words->n ? ks_path_base(words->v[0]) : "";
    for (size_t i = 0; i < sizeof(device) / sizeof(device[0]); i++)
        if (strcmp(base, device[i]) == 0)
            return check_device(words, err);
    return check_host(words, err);
}

/* ---- assembler ------------------------------------------------------------------------------------------------------ */

/* The text of the string literals between p's parenthesis and its end, one after the other. */
static const char *asm_text(const char *p, struct ks_str *out)
{
    int depth = 0;
    bool in_string = false;
    for (; *p; p++) {
        if (in_string && *p == '\\' && p[1]) {
            ks_str_addn(out, p++, 2);
        } else if (*p == '"') {
            in_string = !in_string;
        } else if (in_string) {
            ks_str_addc(out, *p);
        } else if (*p == '(') {
            depth++;
        } else if (*p == ')' && --depth <= 0) {
            return p;
        }
    }
    return p;
}

/* Directives are written in lower case or not; escapes and the assembler's own macros can spell anything. */
static bool may_include(const struct ks_str *text)
{
    static const char *const names[] = {"inc", ".macro", ".altmacro", ".irp"};
    const char *t = ks_str_cstr(text);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        for (const char *p = t; (p = strcasestr(p, names[i])); p++)
            if (i > 0 || strncasecmp(p, "incbin", 6) == 0 || strncasecmp(p, "include", 7) == 0)
                return true;
    for (const char *p = t; (p = strchr(p, '\\')); p += 2)
        if (p[1] == 'x' || p[1] == 'u' || p[1] == 'U' || p[1] == 'N' || (p[1] >= '0' && p[1] <= '7'))
            return true;
    return false;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

enum ks_code ks_fingerprint_check_text(const char *text, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str body = KS_STR_INIT;
    if (strstr(text, "#embed") || strstr(text, "#pragma GCC pch_preprocess"))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "the preprocessor leaves a file to be read later");
    for (const char *p = text; (p = strstr(p, "asm"));) {
        const char *begin = p;
        while (begin > text && begin[-1] == '_')
            begin--;
        bool whole = begin == text || !is_word_char(begin[-1]);
        for (p += 3; *p == '_'; p++)
            ;
        if (!whole || is_word_char(*p))
            continue;
        const char *open = p + strcspn(p, "(;{}");
        if (*open != '(')
            continue;
        ks_str_clear(&body);
        p = asm_text(open, &body);
        if (may_include(&body))
            return ks_fail(err, KS_ERR_UNSUPPORTED, "assembler text may include a file");
    }
    return KS_OK;
}
