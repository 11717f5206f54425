#include "driver/help.h"

#include "driver/commands.h"
#include "driver/nvcc_flags.h"

#include <string.h>

/* ---- one topic ------------------------------------------------------------------------------------------------------ */

/* "--kscc-ask", "kscc-ask" or "ask". */
static const struct ks_option *find_option(const char *topic)
{
    topic += strspn(topic, "-");
    for (size_t i = 0; i < ks_n_options; i++) {
        const char *name = ks_options[i].name + strspn(ks_options[i].name, "-");
        if (strcmp(name, topic) == 0 || (ks_str_starts(name, "kscc-") && strcmp(name + strlen("kscc-"), topic) == 0))
            return &ks_options[i];
    }
    return NULL;
}

bool ks_help_topic(const char *topic, struct ks_str *out)
{
    const struct ks_command *c = ks_command_find(topic);
    const struct ks_option *o = c ? NULL : find_option(topic);
    if (c)
        ks_str_addf(out, "kscc %s\n    %s\n", c->usage, c->help);
    if (!o)
        return c;
    ks_option_form(o, out);
    ks_str_addf(out, "\n    %s\n", o->help);
    if (*o->allowed)
        ks_str_addf(out, "    values: %s\n", o->allowed);
    if (o->type != KS_TYPE_OPT_ACTION) {
        KS_AUTO_STR struct ks_str env = KS_STR_INIT;
        ks_option_env_name(o, &env);
        ks_str_addf(out, "    environment: %s\n", ks_str_cstr(&env));
    }
    return true;
}

/* ---- kscc(1) -------------------------------------------------------------------------------------------------------- */

/* Text as man(7) takes it: hyphens that are typed, backslashes, no line that begins with a macro. */
static void add_roff(struct ks_str *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        ks_str_add(out, "\\&");
    for (; *text; text++) {
        if (*text == '-')
            ks_str_add(out, "\\-");
        else if (*text == '\\')
            ks_str_add(out, "\\e");
        else
            ks_str_addc(out, *text);
    }
}

static void add_entry(struct ks_str *out, const char *head, const char *text)
{
    ks_str_add(out, ".TP\n.B \"");
    add_roff(out, head);
    ks_str_add(out, "\"\n");
    add_roff(out, text);
    ks_str_addc(out, '\n');
}

static void man_options(struct ks_str *out)
{
    ks_str_add(
        out,
        ".SH OPTIONS\nEvery option of nvcc keeps its meaning. These are kscc's own, recognised only where nvcc would read an "
        "option; the variable named with each has the same meaning.\n");
    for (size_t i = 0; i < ks_n_options; i++) {
        const struct ks_option *o = &ks_options[i];
        KS_AUTO_STR struct ks_str head = KS_STR_INIT, text = KS_STR_INIT, env = KS_STR_INIT;
        ks_option_form(o, &head);
        ks_str_add(&text, o->help);
        ks_option_env_name(o, &env);
        if (o->type != KS_TYPE_OPT_ACTION)
            ks_str_addf(&text, " [%s]", ks_str_cstr(&env));
        add_entry(out, ks_str_cstr(&head), ks_str_cstr(&text));
    }
}

void ks_help_man(struct ks_str *out)
{
    ks_str_add(out,
               ".TH KSCC 1 \"\" \"kscc " KSCC_VERSION "\" \"User Commands\"\n"
               ".SH NAME\nkscc \\- nvcc that makes kernels faster while it compiles them\n"
               ".SH SYNOPSIS\n.B kscc\n[nvcc options] [\\-O\\-agent] file.cu...\n.br\n.B kscc\nCOMMAND [arguments]\n"
               ".SH DESCRIPTION\nWithout \\-O\\-agent kscc becomes nvcc, called exactly as it was called itself. With it, the "
               "baseline is compiled first; then what holds each kernel back is asked about, candidates are proposed and judged, "
               "and the object that is left holds a candidate only when it was proved correct and faster. In every other case "
               "it is the baseline, with nvcc's exit status.\n");
    man_options(out);
    ks_str_add(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < ks_n_commands; i++) {
        KS_AUTO_STR struct ks_str head = KS_STR_INIT;
        ks_str_addf(&head, "kscc %s", ks_commands[i].usage);
        add_entry(out, ks_str_cstr(&head), ks_commands[i].help);
    }
    ks_str_add(out, ".SH EXIT STATUS\nOf a compilation: nvcc's. Of a command: 0 done, 1 no, 2 wrong usage.\n"
                    ".SH SEE ALSO\n.BR kscc\\-contract (5),\n.BR kscc\\-questions (7),\n.BR nvcc (1)\n");
}

/* ---- completion ----------------------------------------------------------------------------------------------------- */

/* Our options up to the "=", and the long names of nvcc's documented ones. */
static void add_words(struct ks_str *out)
{
    for (size_t i = 0; i < ks_n_options; i++)
        ks_str_addf(out, " %s%s", ks_options[i].name, ks_options[i].form == KS_OPT_EQUALS ? "=" : "");
    for (size_t i = 0; i < ks_n_flags; i++)
        if (!(ks_flags[i].bits & KS_FLAG_HIDDEN) && *ks_flags[i].long_name)
            ks_str_addf(out, " --%s", ks_flags[i].long_name);
}

/* "a|b|c" with another separator. */
static void add_values(struct ks_str *out, const char *allowed, char separator)
{
    for (; *allowed; allowed++)
        ks_str_addc(out, *allowed == '|' ? separator : *allowed);
}

static void add_commands(struct ks_str *out)
{
    for (size_t i = 0; i < ks_n_commands; i++)
        ks_str_addf(out, " %s", ks_commands[i].name);
}

static bool in_list(const char *list, const char *word, size_t len)
{
    for (const char *p = list; (p = strchr(p, ' ')); p++)
        if (strncmp(p + 1, word, len) == 0 && (p[1 + len] == ' ' || p[1 + len] == '\0'))
            return true;
    return false;
}

/* A command's own words, each once and behind a blank, as its usage has them: options, up to the "=", or else verbs: what stands
 * first, in a bracket or behind a bar, in small letters. */
static void add_own(const struct ks_command *c, bool options, struct ks_str *out)
{
    KS_AUTO_STR struct ks_str list = KS_STR_INIT;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    const char *first = c->usage + strlen(c->name);
    for (const char *p = first; *p; p++) {
        size_t n = 0;
        if (options && strncmp(p, "--", 2) == 0 && !strchr(letters, p[-1])) {
            n = 2 + strspn(p + 2, "abcdefghijklmnopqrstuvwxyz-");
            n = n == 2 ? 0 : n + (p[n] == '=' || strncmp(p + n, "[=", 2) == 0);
        } else if (!options && (p - 1 == first || p[-1] == '[' || (p[-1] == ' ' && p[-2] == '|'))) {
            n = strspn(p, letters);
            n = n > 0 && strchr(" ]", p[n]) && strncmp(p, "nvcc ", n + 1) != 0 ? n : 0;
        }
        if (n && !in_list(ks_str_cstr(&list), p, n)) {
            ks_str_addf(&list, " %.*s", (int)n, p);
            if (p[n - 1] == '[') /* "--ask[=LAYER]": with and without */
                list.data[list.len - 1] = '=';
        }
    }
    ks_str_add(out, ks_str_cstr(&list));
}

/* What stands behind these two is no word of a usage. */
static void add_verbs(const struct ks_command *c, const char *ids, struct ks_str *out)
{
    add_own(c, false, out);
    if (strcmp(c->name, "help") == 0)
        add_commands(out);
    if (strcmp(c->name, "explain") == 0)
        ks_str_addf(out, " %s", ids);
}

static bool takes_nvcc_options(const struct ks_command *c)
{
    return strstr(c->usage, "nvcc options");
}

static void bash_commands(struct ks_str *out)
{
    ks_str_add(out, "    local typed flags= verbs= all=1\n    read -ra typed <<<\"$line\"\n    case ${typed[1]-} in\n");
    for (size_t i = 0; i < ks_n_commands; i++) {
        const struct ks_command *c = &ks_commands[i];
        ks_str_addf(out, "    %s) flags=\"", c->name);
        add_own(c, true, out);
        ks_str_add(out, "\" verbs=\"");
        add_verbs(c, "$(\"${typed[0]}\" explain 2>/dev/null)", out);
        ks_str_addf(out, "\"%s;;\n", takes_nvcc_options(c) ? "" : " all=");
    }
    ks_str_add(out, "    esac\n");
}

static void bash(struct ks_str *out)
{
    ks_str_add(out, "# bash completion for kscc; made by 'kscc help --completion=bash'\n_kscc() {\n"
                    "    local line=${COMP_LINE:0:COMP_POINT} cur head=\n    cur=${line##*[[:space:]]}\n"
                    "    # bash splits words at '=': what stands before it must not be repeated\n"
                    "    if [[ $cur == *=* && $COMP_WORDBREAKS == *=* ]]; then head=${cur%%=*}=; fi\n");
    bash_commands(out);
    ks_str_add(out, "    case $cur in\n");
    for (size_t i = 0; i < ks_n_options; i++) {
        const struct ks_option *o = &ks_options[i];
        if (*o->allowed) {
            ks_str_addf(out, "    %s=*) COMPREPLY=($(compgen -W \"", o->name);
            add_values(out, o->allowed, ' ');
            ks_str_addf(out, "\" -- \"${cur#*=}\")); [ -n \"$head\" ] || COMPREPLY=(\"${COMPREPLY[@]/#/%s=}\");;\n", o->name);
        } else if (o->type == KS_TYPE_OPT_PATH) {
            ks_str_addf(out, "    %s=*) COMPREPLY=($(compgen -f -- \"${cur#*=}\"));;\n", o->name);
        }
    }
    ks_str_add(out, "    -*) [ -z \"$all\" ] || flags+=\"");
    add_words(out);
    ks_str_add(
        out,
        "\"; COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\")); [[ ${COMPREPLY-} != *= ]] || compopt -o nospace 2>/dev/null;;\n"
        "    *) COMPREPLY=($(compgen -f -- \"$cur\"))\n"
        "       if [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY+=($(compgen -W \"");
    add_commands(out);
    ks_str_add(out, "\" -- \"$cur\")); else COMPREPLY+=($(compgen -W \"$verbs\" -- \"$cur\")); fi;;\n    esac\n}\ncomplete -o "
                    "filenames -F _kscc kscc\n");
}

/* Help text inside single quotes, with `special` escaped by a backslash. */
static void add_quoted(struct ks_str *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            ks_str_add(out, "'\\''");
        else {
            if (strchr(special, *text))
                ks_str_addc(out, '\\');
            ks_str_addc(out, *text);
        }
    }
}

static void zsh_commands(struct ks_str *out)
{
    ks_str_add(out, "if (( CURRENT > 2 )); then\n    local -a own\n    case $words[2] in\n");
    for (size_t i = 0; i < ks_n_commands; i++) {
        const struct ks_command *c = &ks_commands[i];
        KS_AUTO_STR struct ks_str flags = KS_STR_INIT, verbs = KS_STR_INIT;
        add_own(c, true, &flags);
        add_verbs(c, "${(f)\"$($words[1] explain 2>/dev/null)\"}", &verbs);
        ks_str_addf(out, "    %s) :;", c->name);
        if (flags.len) /* no blank behind what waits for a value */
            ks_str_addf(out, " own=(%s); compadd -S '' -- ${(M)own:#*=}; compadd -- ${own:#*=};", ks_str_cstr(&flags) + 1);
        if (verbs.len)
            ks_str_addf(out, " compadd --%s;", ks_str_cstr(&verbs));
        ks_str_add(out, takes_nvcc_options(c) ? ";\n" : " _files; return;;\n");
    }
    ks_str_add(out, "    esac\nfi\n");
}

static void zsh(struct ks_str *out)
{
    ks_str_add(out, "#compdef kscc\n# zsh completion for kscc; made by 'kscc help --completion=zsh'\n");
    zsh_commands(out);
    ks_str_add(out, "_arguments -S \\\n");
    for (size_t i = 0; i < ks_n_options; i++) {
        const struct ks_option *o = &ks_options[i];
        ks_str_addf(out, "    '%s%s[", o->name, o->form == KS_OPT_EQUALS ? "=-" : o->form == KS_OPT_EITHER ? "=-" : "");
        add_quoted(out, o->help, "[]:\\");
        ks_str_addc(out, ']');
        if (*o->metavar) {
            ks_str_addf(out, "%s%s:", o->form == KS_OPT_EITHER ? "::" : ":", o->metavar);
            if (*o->allowed) {
                ks_str_addc(out, '(');
                add_values(out, o->allowed, ' ');
                ks_str_addc(out, ')');
            } else if (o->type == KS_TYPE_OPT_PATH) {
                ks_str_add(out, "_files");
            }
        }
        ks_str_add(out, "' \\\n");
    }
    ks_str_add(out,
               "    '1:file or command:->first' '*:file:_files' && return\nif [[ $state = first ]]; then\n    _values command");
    for (size_t i = 0; i < ks_n_commands; i++) {
        ks_str_addf(out, " '%s[", ks_commands[i].name);
        add_quoted(out, ks_commands[i].help, "[]:\\");
        ks_str_add(out, "]'");
    }
    ks_str_add(out, "\n    _files\nfi\n");
}

static void fish(struct ks_str *out)
{
    ks_str_add(out, "# fish completion for kscc; made by 'kscc help --completion=fish'\n");
    for (size_t i = 0; i < ks_n_options; i++) {
        const struct ks_option *o = &ks_options[i];
        bool is_long = strncmp(o->name, "--", 2) == 0;
        ks_str_addf(out, "complete -c kscc -%c '%s'", is_long ? 'l' : 'o', o->name + (is_long ? 2 : 1));
        if (*o->allowed) {
            ks_str_add(out, " -x -a '");
            add_values(out, o->allowed, ' ');
            ks_str_addc(out, '\'');
        } else if (o->form == KS_OPT_EQUALS) {
            ks_str_add(out, " -r");
        }
        ks_str_add(out, " -d '");
        add_quoted(out, o->help, "");
        ks_str_add(out, "'\n");
    }
    for (size_t i = 0; i < ks_n_commands; i++) {
        ks_str_addf(out, "complete -c kscc -n __fish_use_subcommand -a '%s' -d '", ks_commands[i].name);
        add_quoted(out, ks_commands[i].help, "");
        ks_str_add(out, "'\n");
        KS_AUTO_STR struct ks_str own = KS_STR_INIT;
        add_own(&ks_commands[i], true, &own);
        add_verbs(&ks_commands[i], "(kscc explain)", &own);
        if (own.len)
            ks_str_addf(out, "complete -c kscc -n '__fish_seen_subcommand_from %s' -a '%s'\n", ks_commands[i].name,
                        ks_str_cstr(&own) + 1);
    }
}

bool ks_help_completion(const char *shell, struct ks_str *out)
{
    static const struct {
        const char *name;
        void (*write)(struct ks_str *out);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++) {
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].write(out);
            return true;
        }
    }
    return false;
}
